"""SPDX SBOMs; the fixtures are written by hand, one as GitHub exports it."""

from __future__ import annotations

import json

import pytest

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources import any_format
from gradcompat.sources.spdx import read
from tests.sources.listed import facts, rows
from tests.sources.locked import fixture, notes

THREE = "https://spdx.org/rdf/3.0.1/spdx-context.jsonld"


def text(content: object) -> Document:
    return Document("a.spdx", content if isinstance(content, str) else json.dumps(content))


def test_exported_by_github() -> None:
    environment = read(fixture("sbom/github.spdx.json"))
    assert rows(environment) == [
        ("torch", "2.5.1", "registry", 4, 70),
        ("transformers", ">=4.46,<5", "registry", 6, 84),
        ("peft", None, "registry", 11, 63),
    ]
    assert notes(environment) == [
        ("`packages[5]`", "has no name", True, 13),
        ("com.github.us/trainer", "is what the SBOM is about", False, 12),
        ("1 component", "of no Python ecosystem: 1 githubactions", False, None),
    ]
    assert facts(environment) == ("spdx", False, None, None)


def test_lines_of_tags() -> None:
    environment = read(fixture("sbom/tags.spdx"))
    assert rows(environment) == [("torch", "2.5.1", "registry", 14, 17)]
    assert notes(environment) == [("trainer", "is what the SBOM is about", False, 10)]


def test_version_3() -> None:
    environment = read(fixture("sbom/three.spdx.json"))
    assert rows(environment) == [("torch", "2.5.1", "registry", 8, 33), ("peft", "0.14.0", "registry", 10, 64)]
    assert notes(environment) == [("trainer", "is what the SBOM is about", False, 6)]


@pytest.mark.parametrize("name", ["github.spdx.json", "tags.spdx", "three.spdx.json"])
def test_it_is_known_by_its_content(name: str) -> None:
    assert any_format.read(Document("-", fixture(f"sbom/{name}").text)).kind == "spdx"


def test_whole_value() -> None:
    assert read(text("SPDXVersion: SPDX-2.2\r\nPackageName: torch\r\nPackageVersion: 2.5.1\r\n")) == Environment(
        source="a.spdx",
        kind="spdx",
        packages=(Package(name="torch", version="2.5.1", location=Location(path="a.spdx", line=3, column=17)),),
        closed=False,
    )


def test_the_only_package_is_not_the_project() -> None:
    packages = [{"SPDXID": "a", "name": "torch", "versionInfo": "2.5.1"}]
    environment = read(text({"spdxVersion": "SPDX-2.3", "documentDescribes": ["a"], "packages": packages}))
    assert [(one.name, one.version) for one in environment.packages] == [("torch", "2.5.1")]
    assert environment.skipped == ()


def test_wrong_types_everywhere() -> None:
    content = {
        "spdxVersion": "SPDX-2.3",
        "documentDescribes": [[]],
        "relationships": [1, {"relationshipType": "DESCRIBES"}],
        "packages": [1, {"name": "a", "versionInfo": 2, "externalRefs": [3, {"referenceType": "purl"}]}],
    }
    environment = read(text(content))
    assert [(one.name, one.version) for one in environment.packages] == [("a", None)]
    assert notes(environment) == [("`packages[0]`", "has no name", True, 1)]
    without = read(text({"spdxVersion": "SPDX-2.3", "packages": {}}))
    assert notes(without) == [("`packages`", "is not an array", True, 1)]
    graph = [1, {"type": "software_Package"}, {"type": "SpdxDocument", "rootElement": 3}]
    assert [note[:3] for note in notes(read(text({"@context": [THREE], "@graph": graph})))] == [
        ("`@graph[0]`", "is not an object", True),
        ("a component", "has no valid package name", True),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"spdxVersion": "SPDX-4.0"}, "`a.spdx:1`: `SPDX-4.0` is not supported"),
        ({"spdxVersion": 2}, "`a.spdx:1`: `2` is not supported"),
        (
            {"@context": THREE.replace("3.0.1", "4.0")},
            "`a.spdx:1`: `https://spdx.org/rdf/4.0/spdx-context.jsonld` is not supported",
        ),
        ("SPDXVersion: SPDX-1.2\n", "`a.spdx:1`: `SPDX-1.2` is not supported"),
        ("<rdf:RDF></rdf:RDF>", "`a.spdx`: SPDX in XML is not supported"),
        ("---\nspdxVersion: SPDX-2.3\n", "`a.spdx`: SPDX in YAML is not supported"),
    ],
)
def test_other_versions_and_forms(content: object, message: str) -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(text(content))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`a.spdx`: has no `SPDXVersion:` line"),
        ("{}", "`a.spdx`: has no `spdxVersion` as an SPDX document has"),
        ('{"@context": 1}', "`a.spdx`: has no `spdxVersion` as an SPDX document has"),
        ('{"spdxVersion": ', "`a.spdx:1`: not valid JSON: Expecting value"),
    ],
)
def test_what_is_no_sbom(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message
