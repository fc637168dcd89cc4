"""Folders of broken files: nothing that matters is left unnamed, and what cannot be read never makes a check milder.

What matters is a file whose name and bytes could be an environment or a training config. It is an environment of the
report, one of its training configs, or among what was skipped.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

import gradcompat
from gradcompat.model.report import Report
from tests.examples import examples

# As other tools count: clean, could not check, found. A folder of which nothing could be read is not checked either.
_WEIGHT = {0: 0, 3: 1, 2: 1, 1: 2}

_LOCK = 'version = 1\n[[package]]\nname = "transformers"\nversion = "4.49.0"\nsource = { registry = "x" }\n'
_CONFIG = (
    "model_name_or_path: llava-hf/llava-1.5-7b-hf\nstage: sft\nfinetuning_type: lora\ndataset: demo\noutput_dir: out\n"
    "per_device_train_batch_size: 1\n"
)
_FILES = {
    "uv.lock": _LOCK,
    "requirements.txt": "transformers==4.49.0\n",
    "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["transformers==4.49.0"]\n',
    "train.yaml": f"{_CONFIG}gradient_accumulation_steps: 8\n",
    "ds.json": '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}\n',
    "run.sh": "torchrun train.py --gradient_accumulation_steps 8\n",
    "train.py": "from transformers import Trainer, TrainingArguments\nTrainer(args=TrainingArguments('o')).train()\n",
    "configs/other.yml": _CONFIG,
}
_MUTATIONS = ("cut", "byte", "zero", "two documents", "large", "pipe", "link", "control", "marker")


def _mutated(content: bytes, mutation: str, at: int) -> bytes:
    at %= len(content) + 1
    match mutation:
        case "cut":
            return content[:at]
        case "byte":
            return content[:at] + b"\xe9\n" + content[at:]
        case "zero":
            return content[:at] + b"\0" + content[at:]
        case "two documents":
            return content + b"---\na: 1\n"
        case "large":
            return content + b"#" * (300 * 1024 if at % 2 else 3 * 1024 * 1024) + b"\n"
        case "control":
            return content[:at] + "\u2028\x0c".encode() + content[at:]
    return content


def _plant(folder: Path, name: str, mutation: str | None, at: int) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    content = _FILES[name].encode()
    if mutation == "pipe" and hasattr(os, "mkfifo"):
        os.mkfifo(path)
    elif mutation == "link":
        path.symlink_to("nowhere")
    else:
        path.write_bytes(content if mutation is None else _mutated(content, mutation, at))
    if mutation == "marker":
        (path.parent / "pyvenv.cfg").touch()
        (path.parent / "conda-meta").mkdir(exist_ok=True)


def _check(folder: Path) -> Report:
    return gradcompat.check(folder, only=["GC-0004"])


def _named(report: Report, folder: Path) -> set[str]:
    names = {audit.source for audit in report.audits}
    names.update(report.contexts)
    for audit in report.audits:
        for skipped in audit.skipped:
            names.add(skipped.what)
            if skipped.location is not None:
                names.add(skipped.location.path)
    return {name.removeprefix(f"{folder}/") for name in names}


def _could_matter(name: str, content: bytes) -> bool:
    """A file that has lost the words that make it one is another file."""
    whole = _FILES[name].encode()
    return content.replace(b"\0", b"").startswith(whole) or name in ("uv.lock", "requirements.txt")


_PLANTED = st.dictionaries(
    st.sampled_from(sorted(_FILES)),
    st.tuples(st.none() | st.sampled_from(_MUTATIONS), st.integers(0, 400)),
    min_size=1,
    max_size=4,
)


@given(_PLANTED)
@settings(deadline=None, max_examples=examples(25))
@example({"uv.lock": (None, 0), "train.yaml": ("byte", 400)})
@example({"uv.lock": ("cut", 20), "pyproject.toml": (None, 0)})
@example({"run.sh": ("zero", 100), "uv.lock": ("marker", 0)})
def test_what_matters_is_named(planted: dict[str, tuple[str | None, int]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, (mutation, at) in planted.items():
            _plant(folder, name, mutation, at)
        report = _check(folder)
        named = _named(report, folder)
        for name in planted:
            path = folder / name
            if not path.is_file() or _could_matter(name, path.read_bytes()):
                assert name in named, (name, json.dumps(sorted(named)))


@given(_PLANTED, st.sampled_from(sorted(_FILES)), st.sampled_from(_MUTATIONS), st.integers(0, 400))
@settings(deadline=None, max_examples=examples(25))
@example({"pyproject.toml": (None, 0), "train.yaml": (None, 0)}, "uv.lock", "cut", 20)
@example({"requirements.txt": (None, 0)}, "train.yaml", "pipe", 0)
def test_a_file_that_cannot_be_read_makes_no_check_milder(
    planted: dict[str, tuple[str | None, int]], name: str, mutation: str, at: int
) -> None:
    planted.pop(name, None)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for other, (kind, where) in planted.items():
            _plant(folder, other, kind, where)
        before = _check(folder)
        (folder / "more").mkdir()
        _plant(folder, name, mutation, at)
        after = _check(folder)
        broken = {audit.source for audit in after.audits if audit.kind is None}
        unread = any(one.gap and one.what.endswith(name) for audit in after.audits for one in audit.skipped)
        if unread or any(source.endswith(name) for source in broken):
            assert _WEIGHT[after.exit_status] >= _WEIGHT[before.exit_status]
            assert after.exit_status != 0
