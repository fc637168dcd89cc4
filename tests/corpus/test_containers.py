"""Dockerfiles and notebooks of other projects. There is no independent truth: what is expected was read by eye."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment
from gradcompat.sources.any_format import read

# Part of the name of the file, the number of its entries, and of what could hide a defect.
DOCKERFILES = [
    ("InternLM__xtuner", 33, 4),
    ("OpenRLHF__OpenRLHF", 5, 1),
    ("docker__Dockerfile-cu114", 13, 2),
    ("axolotl__067b021c", 12, 0),
    ("Dockerfile.megatron", 14, 1),
    ("docker-rocm", 10, 3),
    ("ColossalAI", 5, 1),
    ("Dockerfile.stable.vllm", 22, 0),
    ("Dockerfile.ascend", 6, 1),
]
NOTEBOOKS = [
    ("Mushroom-Classifier", 5, 0),
    ("QwenLM__Qwen", 9, 0),
    ("flan_t5", 5, 0),
    ("Finetune_opt", 5, 0),
    ("whisper_large", 11, 0),
    ("sft_nemotron", 5, 0),
    ("Training_a_LoRA", 9, 0),
    ("2025-dpo", 14, 0),
]


def environment_of(corpus: Path, kind: str, part: str) -> tuple[Environment, Document]:
    [path] = [path for path in (corpus / kind).iterdir() if part in path.name]
    document = read_document(path, path.name)
    return read(document), document


@pytest.mark.parametrize(("part", "packages", "gaps"), DOCKERFILES)
def test_dockerfiles(corpus: Path, part: str, packages: int, gaps: int) -> None:
    environment, document = environment_of(corpus, "dockerfile", part)
    assert environment.kind == "dockerfile"
    assert (len(environment.packages), sum(skipped.gap for skipped in environment.skipped)) == (packages, gaps)
    lines = document.text.split("\n")
    for package in environment.packages:
        assert package.location.line is not None
        assert package.location.column is not None
        rest = lines[package.location.line - 1][package.location.column - 1 :]
        written = re.escape(package.version or "")
        if package.specifier not in (None, "*"):
            written = re.escape(str(package.specifier))
        # A version stands there, or the variable that gives it, or the name where no version is asked for.
        assert re.match(
            rf"\$|git\+|{package.name.replace('-', '[-_.]')}|\S+/pytorch:|{written or '$^'}", rest, re.IGNORECASE
        ), rest


@pytest.mark.parametrize(("part", "packages", "gaps"), NOTEBOOKS)
def test_notebooks(corpus: Path, part: str, packages: int, gaps: int) -> None:
    environment, document = environment_of(corpus, "notebook", part)
    assert environment.kind == "notebook"
    assert (len(environment.packages), sum(skipped.gap for skipped in environment.skipped)) == (packages, gaps)
    lines = document.text.split("\n")
    for package in environment.packages:
        assert package.location.line is not None
        line = lines[package.location.line - 1].lower()
        assert re.search(package.name.replace("-", "[-_.]"), line)
        assert package.version is None or package.version in line
