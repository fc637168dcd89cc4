"""Lockfiles of real projects against what an independent parser read from them, entry for entry."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gradcompat.formats.document import read_document
from gradcompat.model.environment import Environment, Package
from gradcompat.requirements.names import normalise
from gradcompat.sources.any_format import read

KINDS = {"uv.lock": 17, "poetry.lock": 13, "pdm.lock": 4, "Pipfile.lock": 2, "pylock.toml": 6}
# The truth has the words of each tool.
SOURCES = {"pip": "registry", "pypi": "registry"}


@cache
def read_file(path: Path) -> Environment:
    return read(read_document(path, path.name))


def truth_of(path: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((path.parents[1] / "truth" / f"{path.name}.json").read_text())
    return truth


def row(package: Package) -> tuple[str, str | None, str]:
    return (package.name, package.version, package.source)


@pytest.mark.parametrize("kind", KINDS)
def test_entries_are_those_of_the_truth(corpus: Path, kind: str) -> None:
    files = sorted((corpus / kind).iterdir())
    # More files may come; fewer would mean that nothing was compared.
    assert len(files) >= KINDS[kind]
    for path in files:
        environment = read_file(path)
        expected = Counter(
            (normalise(entry["name"]), entry["version"], SOURCES.get(entry["source"], entry["source"]))
            for entry in truth_of(path)["packages"]
        )
        assert Counter(map(row, environment.packages)) == expected, path.name
        assert [one for one in environment.skipped if one.gap] == [], path.name


@pytest.mark.parametrize("kind", KINDS)
def test_each_pin_stands_where_it_is_said_to_stand(corpus: Path, kind: str) -> None:
    for path in sorted((corpus / kind).iterdir()):
        lines = path.read_text().split("\n")
        environment = read_file(path)
        places = [package.location for package in environment.packages]
        assert len(set(places)) == len(places), path.name
        for package in environment.packages:
            line, column = package.location.line, package.location.column
            assert line is not None
            assert column is not None
            rest = lines[line - 1][column - 1 :].lstrip('"')
            if package.version is not None:
                assert rest.startswith(package.version), (path.name, package)
            else:
                written = re.match(r"[\w.-]+", rest)
                assert written is not None, (path.name, package)
                assert normalise(written[0]) == package.name


@pytest.mark.parametrize("kind", ["poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml"])
def test_markers_are_those_of_the_truth(corpus: Path, kind: str) -> None:
    for path in sorted((corpus / kind).iterdir()):
        environment = read_file(path)
        if environment.kind != kind:
            continue
        truth = truth_of(path)["packages"]
        for package, entry in zip(environment.packages, truth, strict=True):
            if isinstance(entry["markers"], str) or entry["markers"] is None:
                assert (package.name, package.marker) == (normalise(entry["name"]), entry["markers"]), path.name


def test_a_lockfile_that_is_called_otherwise(corpus: Path) -> None:
    (path,) = (corpus / "pylock.toml").glob("Cambridge-ICCS__*")
    environment = read_file(path)
    assert environment.kind == "requirements"
    assert [one.reason for one in environment.skipped if not one.gap][:1] == [
        "named like pylock.toml, but contains requirements: read as requirements"
    ]


def test_three_formats_of_one_commit_agree(corpus: Path) -> None:
    (pylock,) = (corpus / "pylock.toml").glob("AlonKellner-RedHat__Oyez-SA-ASR__*")
    (uv_lock,) = (corpus / "uv.lock").glob("AlonKellner-RedHat__Oyez-SA-ASR__*")
    everything = {(package.name, package.version) for package in read_file(uv_lock).packages}
    chosen = {(package.name, package.version) for package in read_file(pylock).packages}
    # The pylock.toml has no development dependencies; all it has is in the uv.lock.
    assert chosen - everything == {("oyez-sa-asr", None)} - everything
