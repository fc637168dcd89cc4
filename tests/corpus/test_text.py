"""Requirements and reports of other projects: every pin that a plain scan of the lines finds, and nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from gradcompat.formats.document import read_document
from gradcompat.model.environment import Environment
from gradcompat.requirements.names import normalise
from gradcompat.sources.any_format import read

# Knows nothing of options, links, markers and continuations: the form that nearly all pins have.
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*==\s*([\w.+!-]+)\s*(?:;.*|\\?\s*|\s+#.*|--hash.*)$")
_KINDS = ("requirements-plain", "requirements-compiled", "requirements-hashed")

Pins = Counter[tuple[int | None, str, str | None]]


def environments(corpus: Path, kind: str) -> list[tuple[str, str, Environment]]:
    """Each file of a kind: its name, its text, and what we read."""
    found = []
    for path in sorted((corpus / kind).iterdir()):
        document = read_document(path, path.name)
        found.append((path.name, document.text, read(document)))
    assert found, kind
    return found


def pins(environment: Environment) -> Pins:
    return Counter((package.location.line, package.name, package.version) for package in environment.packages)


@pytest.mark.parametrize("kind", _KINDS)
def test_every_pin_is_read_at_its_line(corpus: Path, kind: str) -> None:
    for name, text, environment in environments(corpus, kind):
        assert environment.kind == "requirements", name
        expected: Pins = Counter()
        for number, line in enumerate(text.split("\n"), start=1):
            match = _PIN.match(line.rstrip("\r"))
            if match:
                expected[(number, normalise(match[1]), match[2])] += 1
        ours = pins(environment)
        assert not expected - ours, name
        beyond = [
            package
            for package in environment.packages
            if (package.location.line, package.name, package.version) not in expected
        ]
        assert all(package.version is None or package.source != "registry" for package in beyond), name


@pytest.mark.parametrize("kind", _KINDS)
def test_places_are_those_of_the_pins(corpus: Path, kind: str) -> None:
    for name, text, environment in environments(corpus, kind):
        lines = text.split("\n")
        for package in environment.packages:
            assert package.location.line is not None, name
            assert package.location.column is not None, name
            there = lines[package.location.line - 1][package.location.column - 1 :]
            wanted = package.version or (package.specifier or "*").split(",")[0]
            assert wanted == "*" or package.source != "registry" or there.replace(" ", "").startswith(wanted), name


def test_generated_lists_are_complete(corpus: Path) -> None:
    for kind in ("requirements-compiled", "requirements-hashed"):
        assert all(environment.closed for _, _, environment in environments(corpus, kind))


def test_only_missing_files_and_one_broken_line_are_gaps(corpus: Path) -> None:
    gaps = Counter(
        "missing" if skipped.reason == "there is no such file or folder" else skipped.what
        for kind in _KINDS
        for _, _, environment in environments(corpus, kind)
        for skipped in environment.skipped
        if skipped.gap
    )
    assert gaps == {"missing": 13, "a requirement": 1}


def test_three_formats_of_one_project_agree(corpus: Path) -> None:
    """The same commit has a uv.lock, a pylock.toml and a requirements.txt."""
    (path,) = (corpus / "requirements-hashed").glob("AlonKellner-RedHat__Oyez-SA-ASR__*")
    (truth,) = (corpus / "truth").glob("AlonKellner-RedHat__Oyez-SA-ASR__*pylock.toml.json")
    listed = json.loads(truth.read_text(encoding="utf-8"))["packages"]
    expected = {(normalise(entry["name"]), entry["version"]) for entry in listed if entry["version"] is not None}
    assert {(package.name, package.version) for package in read(read_document(path)).packages} == expected


def test_pasted_reports(corpus: Path) -> None:
    found = {
        name: (environment.kind, len(environment.packages), environment.python, environment.platform)
        for name, _, environment in environments(corpus, "envinfo")
    }
    assert found == {
        "Qihoo360__360-LLaMA-Factory__issue-1.txt": ("pip-list", 29, None, None),
        "axolotl-ai-cloud__axolotl__issue-2262.txt": ("pip-list", 23, None, None),
        "hiyouga__LlamaFactory__issue-6639.txt": ("report", 8, "3.10.16", "linux"),
        "hiyouga__LlamaFactory__issue-7263.txt": ("report", 9, "3.10.16", "linux"),
        "huggingface__transformers__issue-36331.txt": ("report", 6, "3.10.16", "linux"),
    }
