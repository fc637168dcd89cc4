"""CycloneDX SBOMs; two are made by uv and cyclonedx-py, see the fixtures' README."""

from __future__ import annotations

import json

import pytest

from gradcompat.errors import Malformed, SourceError, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources import any_format
from gradcompat.sources.cyclonedx import read
from tests.sources.listed import facts, rows
from tests.sources.locked import fixture, notes

XML = '<?xml version="1.0" encoding="UTF-8"?>\n<bom xmlns="http://cyclonedx.org/schema/bom/1.5" version="1"></bom>\n'


def text(content: object) -> Document:
    return Document("sbom.json", content if isinstance(content, str) else json.dumps(content))


def test_written_by_uv() -> None:
    environment = read(fixture("sbom/uv-export.cdx.json"))
    assert rows(environment) == [
        ("colorama", "0.4.6", "registry", 33, 18),
        ("einops", "0.8.0", "registry", 68, 18),
        ("localpkg", "0.3.0", "registry", 97, 18),
    ]
    assert [one.marker for one in environment.packages] == ["sys_platform == 'win32'", None, None]
    assert notes(environment) == [("tiny-trainer", "is what the SBOM is about", False, 18)]
    assert facts(environment) == ("cyclonedx", False, None, None)


def test_written_by_cyclonedx_py() -> None:
    environment = read(fixture("sbom/cyclonedx-py.cdx.json"))
    assert rows(environment) == [("einops", "0.8.0", "registry", 16, 18), ("safetensors", None, "registry", 29, 15)]
    assert environment.skipped == ()


def test_components_of_all_kinds() -> None:
    environment = read(fixture("sbom/nested.cdx.json"))
    assert rows(environment) == [
        ("torch", "2.5.1+cu124", "registry", 5, 53),
        ("python", "3.11.9", "conda", 11, 58),
        ("peft", "0.14.0", "git", 12, 52),
        ("pytorch", "2.4.0", "conda", 8, 55),
    ]
    assert notes(environment) == [
        ("trainer", "is what the SBOM is about", False, 3),
        ("a component", "its package URL is invalid", True, 14),
        ("`components[6]`", "is not an object", True, 16),
        ("3 components", "of no Python ecosystem: 1 deb, 1 file, 1 huggingface", False, None),
    ]
    assert facts(environment) == ("cyclonedx", False, "3.11.9", None)


@pytest.mark.parametrize("name", ["uv-export", "cyclonedx-py", "nested"])
def test_it_is_known_by_its_content(name: str) -> None:
    assert any_format.read(Document("-", fixture(f"sbom/{name}.cdx.json").text)).kind == "cyclonedx"


def test_it_is_known_although_its_format_is_named_at_the_far_end() -> None:
    components = [{"bom-ref": f"a{n}", "name": f"a{n}", "purl": f"pkg:pypi/a{n}@1"} for n in range(6000)]
    content = json.dumps({"components": components, "bomFormat": "CycloneDX", "specVersion": "1.6"})
    assert len(content) > 256 * 1024
    assert len(any_format.read(Document("-", content)).packages) == 6000


@pytest.mark.parametrize("version", ["1.2", "1.3", "1.4", "1.5", "1.6", "1.7"])
def test_whole_value(version: str) -> None:
    content = (
        f'{{"bomFormat": "CycloneDX", "specVersion": "{version}", "compositions": [{{"aggregate": "complete"}}],\n'
        '"components": [{"purl": "pkg:pypi/torch@2.5.1"}]}'
    )
    assert read(text(content)) == Environment(
        source="sbom.json",
        kind="cyclonedx",
        packages=(Package(name="torch", version="2.5.1", location=Location(path="sbom.json", line=2, column=25)),),
        closed=True,
    )


def test_a_component_that_stands_twice() -> None:
    component = {"type": "library", "name": "torch", "version": "2.5.1"}
    content = {"bomFormat": "CycloneDX", "specVersion": "1.5", "components": [component, component]}
    assert len(read(text(content)).packages) == 2


def test_an_incomplete_composition() -> None:
    content = {"bomFormat": "CycloneDX", "specVersion": "1.5", "compositions": [{"aggregate": "incomplete"}]}
    assert not read(text(content)).closed


def test_wrong_types_everywhere() -> None:
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "metadata": {"component": {"name": 1, "components": 2}},
        "components": [{"name": 1, "type": []}, [], {"name": "a", "properties": {}, "purl": 3, "components": None}],
        "compositions": 4,
    }
    environment = read(text(content))
    assert [(one.name, one.version) for one in environment.packages] == [("a", None)]
    assert [note[:3] for note in notes(environment)] == [
        ("metadata.component", "is what the SBOM is about", False),
        ("`metadata.component.components`", "is not an array", True),
        ("`components[2].components`", "is not an array", True),
        ("a component", "has no valid package name", True),
        ("`components[1]`", "is not an object", True),
    ]


def test_components_that_are_nested_without_end() -> None:
    content = '{"name": "a", "components": [' * 300 + "]}" * 300
    environment = read(text(f'{{"bomFormat": "CycloneDX", "specVersion": "1.5", "components": [{content}]}}'))
    assert len(environment.packages) == 51
    assert [note[:3] for note in notes(environment)] == [("components", "are nested too deeply", True)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"bomFormat": "CycloneDX", "specVersion": "2.0"}, "`sbom.json:1`: CycloneDX 2.0 is not supported"),
        ({"bomFormat": "CycloneDX"}, "`sbom.json:1`: does not say its `specVersion`"),
        ({"bomFormat": "CycloneDX", "specVersion": 1.5}, "`sbom.json:1`: does not say its `specVersion`"),
        ({"bomFormat": "CycloneDX", "specVersion": []}, "`sbom.json:1`: does not say its `specVersion`"),
        (XML, "`sbom.json`: CycloneDX in XML is not supported"),
    ],
)
def test_other_versions(content: object, message: str) -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_xml_is_recognised() -> None:
    with pytest.raises(UnsupportedFormatVersion, match="CycloneDX in XML is not supported"):
        any_format.read(Document("-", XML))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`sbom.json:1`: not valid JSON: Expecting value"),
        ("[]", '`sbom.json`: has no `"bomFormat": "CycloneDX"`'),
        ("{}", '`sbom.json`: has no `"bomFormat": "CycloneDX"`'),
        ('{"bomFormat": "CycloneDX", \n"components": [', "`sbom.json:2`: not valid JSON: Expecting value"),
    ],
)
def test_what_is_no_sbom(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_json_without_end() -> None:
    with pytest.raises(SourceError):
        read(text('{"components": ' + "[" * 100_000))
