"""A project with one finding, and an index on this machine that has what its plan needs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from typer.testing import CliRunner, Result

from gradcompat.cli.app import app
from tests.index.serving import Reply, Server, anchor, metadata

REQUIREMENTS = "transformers==4.49.0\ntokenizers==0.21.0\n"
CONFIG = """\
# a LLaVA fine-tune
model_name_or_path: llava-hf/llava-1.5-7b-hf
stage: sft
do_train: true
finetuning_type: lora
template: llava
dataset: mine
per_device_train_batch_size: 1
gradient_accumulation_steps: 8  # 8 fit
output_dir: out
"""
LINUX = ("--set", "host.python=3.11", "--set", "host.platform=linux")
RELEASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "transformers": {
        "4.48.3": ("tokenizers<0.22,>=0.21",),
        "4.49.0": ("tokenizers<0.22,>=0.21",),
        "4.52.1": ("tokenizers<0.22,>=0.21",),
    },
    "tokenizers": {"0.20.3": (), "0.21.0": (), "0.21.1": ()},
}


def wheel_name(name: str, version: str) -> str:
    return f"{name}-{version}-py3-none-any.whl"


def serve(server: Server, releases: Mapping[str, Mapping[str, tuple[str, ...]]] = RELEASES, base: str = "") -> None:
    """Give the server pages of these releases: name → version → Requires-Dist."""
    for name, versions in releases.items():
        anchors = []
        for version, requires in versions.items():
            file, described = wheel_name(name, version), metadata(name, version, *requires)
            digest = hashlib.sha256(described).hexdigest()
            anchors.append(anchor(file, file.encode(), folder=f"{base}/files/", core_metadata=f"sha256={digest}"))
            server.pages[f"/files/{file}.metadata"] = Reply(body=described)
        server.html(name, *anchors)


def invoke(*arguments: str) -> Result:
    """The program in this process; its errors are raised."""
    result = CliRunner().invoke(app, [*arguments, *LINUX])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result
