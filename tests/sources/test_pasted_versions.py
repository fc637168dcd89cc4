"""Versions as people type them into an issue or a chat, in none of the forms that a tool writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed, SourceError
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Skipped
from gradcompat.sources.any_format import read

Pins = list[tuple[str, str | None]]


def pasted(text: str, name: str | None = None) -> Environment:
    return read(Document(name or "-", text, None if name is None else Path(name)))


def pins(environment: Environment) -> Pins:
    return [(one.name, one.version) for one in environment.packages]


TORCH: Pins = [("torch", "2.4.0+cu124")]
DASHED: Pins = [("sentence-transformers", "3.2.1"), ("transformers", "4.46.0")]


@pytest.mark.parametrize("name", [None, "env.txt", "requirements.txt"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PyTorch:   2.4.0+cu124\nTRL:  0.9.6\n", [*TORCH, ("trl", "0.9.6")]),
        ("torch: 2.4.0+cu124\nflash-attn: 2.5.7\n", [*TORCH, ("flash-attn", "2.5.7")]),
        ("- torch: 2.4.0+cu124\n", TORCH),
        ("- `torch`: 2.11.0a0+abc\n", [("torch", "2.11.0a0+abc")]),
        ("* **PyTorch**: 2.4.0+cu124\n* **Flash Attention**: v2.5.7 (built here)\n", [*TORCH, ("flash-attn", "2.5.7")]),
        ("Since then nothing learns.\n\n> torch: 2.4.0+cu124\n> GPU: 8x A100\n\nWhat can I do?\n", TORCH),
        ("| Name | Version |\n|---|---|\n| `torch` | 2.4.0+cu124 |\n| peft | 0.12.0 |\n", [*TORCH, ("peft", "0.12.0")]),
        ("4.55.4 transformers pytorch 2.6.0\n", [("transformers", "4.55.4"), ("torch", "2.6.0")]),
        ("torch 2.4.0+cu124, trl 0.9.6 and peft 0.12.0\n", [*TORCH, ("trl", "0.9.6"), ("peft", "0.12.0")]),
        ("sentence-transformers-3.2.1\ntransformers-4.46.0\n", DASHED),
        ("- sentence-transformers-3.2.1\n- transformers-4.46.0\n", DASHED),
        ("Platform: Linux-5.15\nSentence-Transformers version: 3.2.1\n", DASHED[:1]),
        ("Python version: 3.10.12\nvllm version: 0.6.3\n", [("vllm", "0.6.3")]),
        ("PyTorch Lightning Version: 2.0.3\nOS: Linux\n", [("pytorch-lightning", "2.0.3")]),
        ("Version: transformers==4.46.0\n", DASHED[1:]),
        ("**Versions:** torch==2.4.0+cu124, trl == 0.9.6\n", [*TORCH, ("trl", "0.9.6")]),
        ("Versions: torch==2.4.0+cu124 trl==0.9.6\n", [*TORCH, ("trl", "0.9.6")]),
        ("Version: transformers 4.46.0\n", DASHED[1:]),
        ("torch: 2.4.0+cu124, trl: 0.9.6\n", [*TORCH, ("trl", "0.9.6")]),
        ("Package versions: torch=2.4.0+cu124; trl=0.9.6\n", [*TORCH, ("trl", "0.9.6")]),
        ("Env: Python 3.10, torch 2.4.0+cu124, trl 0.9.6, 2x RTX 5090\n", [*TORCH, ("trl", "0.9.6")]),
    ],
)
def test_versions_that_were_typed(text: str, expected: Pins, name: str | None) -> None:
    assert pins(pasted(text, name)) == expected


def test_the_python_and_the_gpu_of_a_typed_list() -> None:
    environment = pasted("Python 3.10, CUDA 12.4, torch 2.4.0, 2x NVIDIA GeForce RTX 5090\n")
    assert (environment.python, environment.virtual) == ("3.10", {"__cuda_arch": "12.0"})


@pytest.mark.parametrize("text", ["I went back from transformers==4.46.0 and it works\n", "Version: of transformers\n"])
def test_a_sentence_is_no_list(text: str) -> None:
    with pytest.raises(SourceError):
        pasted(text)


SHOWN = """\
$ pip show torch team_data
Name: torch
Version: 2.4.0+cu124
Summary: Tensors and Dynamic neural networks in Python with strong GPU acceleration
Home-page: https://index.example/
Location: /usr/lib/python3.11/site-packages
Requires: filelock, fsspec
Required-by: accelerate, peft
---
Name: team_data
Version: 0.3
Location: /home/user/team-data/src
Editable project location: /home/user/team-data
"""


PROMPT = Skipped(what="1 line", reason="outside the list", gap=False)


def test_blocks_of_pip_show() -> None:
    environment = pasted(SHOWN)
    assert [(one.name, one.version, one.source, one.location.line) for one in environment.packages] == [
        ("torch", "2.4.0+cu124", "registry", 3),
        ("team-data", "0.3", "editable", 11),
    ]
    assert (environment.kind, environment.closed, environment.skipped) == ("pip-list", False, (PROMPT,))


def test_blocks_of_pip_show_below_a_report() -> None:
    environment = pasted(f"PyTorch version: 2.4.0+cu124\n\n```\n{SHOWN}```\n")
    assert pins(environment) == [*TORCH, ("team-data", "0.3")]


def test_a_block_that_breaks_off_is_a_gap() -> None:
    environment = pasted("Name: torch\nVersion: 2.4.0\n---\nName: peft\nSummary: tuning\n")
    assert pins(environment) == [("torch", "2.4.0")]
    assert [(one.what, one.reason, one.gap) for one in environment.skipped] == [("peft", "has no version", True)]


@pytest.mark.parametrize(
    "text",
    ["lr: 0.001\nloss: 2.5\nwarmup: 0.03\n", "GPU: 8.0\nCUDA: 12.4\nhost: 10.0.0.1\n", "torch 2 is 1.5 times faster\n"],
)
def test_other_numbers_are_no_versions(text: str) -> None:
    with pytest.raises(Malformed):
        pasted(text)


def test_a_name_of_requirements_that_ends_in_a_version_is_refused() -> None:
    environment = pasted("numpy==1.26.4\npeft==0.12.0\ntransformers-4.46.0\n", "requirements.txt")
    assert pins(environment) == [("numpy", "1.26.4"), ("peft", "0.12.0")]
    reason = "ends in a version behind a dash: write `transformers==4.46.0`"
    assert [(one.what, one.reason, one.gap) for one in environment.skipped] == [("a requirement", reason, True)]
