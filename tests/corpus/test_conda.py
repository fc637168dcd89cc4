"""Conda's formats and SBOMs of real projects: against the truth, or what was seen in the files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gradcompat.formats.document import read_document
from gradcompat.model.environment import Environment
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet
from gradcompat.sources.any_format import read

KINDS = {"conda-env": 17, "conda-explicit": 1, "conda-lock": 5, "pixi.lock": 2, "sbom": 2}
WITH_TRUTH = ("conda-lock", "pixi.lock")
SOURCES = {"pip": "registry", "pypi": "registry"}


def read_file(path: Path) -> Environment:
    return read(read_document(path, path.name))


def truth_of(path: Path) -> list[dict[str, Any]]:
    truth: dict[str, Any] = json.loads((path.parents[1] / "truth" / f"{path.name}.json").read_text())
    packages: list[dict[str, Any]] = truth["packages"]
    return packages


def pins(environment: Environment, *names: str) -> list[tuple[str, str | None, int | None]]:
    return [
        (one.name, one.version or one.specifier, one.location.line) for one in environment.packages if one.name in names
    ]


def test_nothing_is_missing(corpus: Path) -> None:
    # More files may come; fewer would mean that nothing was compared.
    assert {kind: len(list((corpus / kind).iterdir())) >= count for kind, count in KINDS.items()} == dict.fromkeys(
        KINDS, True
    )


@pytest.mark.parametrize("kind", WITH_TRUTH)
def test_entries_are_those_of_the_truth(corpus: Path, kind: str) -> None:
    for path in sorted((corpus / kind).iterdir()):
        environment = read_file(path)
        expected = Counter(
            (normalise(entry["name"]), entry["version"], SOURCES.get(entry["source"], entry["source"]))
            for entry in truth_of(path)
        )
        found = Counter((normalise(one.name), one.version, one.source) for one in environment.packages)
        assert found == expected, path.name
        assert environment.skipped == (), path.name
        assert environment.closed, path.name


def test_platforms_of_conda_lock(corpus: Path) -> None:
    for path in sorted((corpus / "conda-lock").iterdir()):
        expected = [(entry["version"], (entry["platform"],)) for entry in truth_of(path)]
        assert [(one.version, one.forks) for one in read_file(path).packages] == expected, path.name


@pytest.mark.parametrize("kind", KINDS)
def test_each_pin_stands_where_it_is_said_to_stand(corpus: Path, kind: str) -> None:
    for path in sorted((corpus / kind).iterdir()):
        lines = path.read_text().split("\n")
        environment = read_file(path)
        assert environment.packages, path.name
        places = [package.location for package in environment.packages]
        assert len(set(places)) == len(places), path.name
        for package in environment.packages:
            line, column = package.location.line, package.location.column
            assert line is not None
            assert column is not None
            rest = lines[line - 1][column - 1 :]
            if package.version is not None:
                assert rest.lstrip("'\"").replace("%21", "!").startswith(package.version), (path.name, package)
            if package.specifier not in (None, "*"):
                VersionSet.parse(str(package.specifier))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_skipped_that_could_hide_a_defect(corpus: Path, kind: str) -> None:
    for path in sorted((corpus / kind).iterdir()):
        assert [note for note in read_file(path).skipped if note.gap] == [], path.name


def test_packages_of_conda_environments(corpus: Path) -> None:
    openfold = read_file(corpus / "conda-env" / "aqlaboratory__openfold__ce0029e1__environment.yml")
    assert pins(openfold, "pytorch", "pytorch-cuda", "deepspeed") == [
        ("pytorch", "==2.5.*", 34),
        ("pytorch-cuda", "==12.4.*", 35),
        ("deepspeed", "0.14.5", 37),
    ]
    dit = read_file(corpus / "conda-env" / "facebookresearch__DiT__ed81ce22__environment.yml")
    assert pins(dit, "python", "pytorch", "diffusers") == [
        ("python", ">=3.8", 6),
        ("pytorch", ">=1.13", 7),
        ("diffusers", "*", 12),
    ]
    esm = read_file(corpus / "conda-env" / "facebookresearch__esm__2b369911__environment.yml")
    assert pins(esm, "cudatoolkit", "pytorch", "hmmer") == [
        ("cudatoolkit", "==11.3.*", 12),
        ("hmmer", "3.3.2", 19),
        ("pytorch", "==1.12.*", 22),
    ]
    template = read_file(corpus / "conda-env" / "FSadrieh__BERTchen__d5aec699__environment.yml")
    assert [one for one, _, _ in pins(template, "pytorch-cuda")] == ["pytorch-cuda"]


def test_only_exports_count_as_complete(corpus: Path) -> None:
    closed = [path.name for path in sorted((corpus / "conda-env").iterdir()) if read_file(path).closed]
    assert closed == [
        "3dlg-hcvc__paris__fcab60d2__environment.yml",
        "PBarde__moma-ppo__c276efcf__environment.yml",  # by --no-builds, from _libgcc_mutex on
        "princeton-nlp__SimPO__1b3e8f35__environment.yml",
    ]


def test_the_explicit_list(corpus: Path) -> None:
    environment = read_file(corpus / "conda-explicit" / "BIMSBbioinfo__flexynesis__a70e0fc2__spec-file.txt")
    assert (len(environment.packages), environment.python, environment.platform) == (160, "3.9.16", "linux")


def test_sboms(corpus: Path) -> None:
    name = "DreamSketcher__XTTS-Studio-portable-__a28df4a7__json__sbom.cdx.json"
    studio = read_file(corpus / "sbom" / name)
    assert len(studio.packages) == 180
    assert pins(studio, "torch", "transformers") == [("torch", "2.2.2", 1118), ("transformers", "4.38.2", 1160)]
    documents = read_file(corpus / "sbom" / "DoIT-Artificial-Intelligence__youtube-to-docs__d70f93c5__sbom.cdx.json")
    assert len(documents.packages) == 148
