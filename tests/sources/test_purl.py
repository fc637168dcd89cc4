"""Package URLs and the components that have one."""

from __future__ import annotations

import pytest

from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.sources.purl import Purl, component, gathered, parse_purl

HERE = Location(path="sbom.cdx.json", line=3, column=7)


@pytest.mark.parametrize(
    ("text", "purl"),
    [
        ("pkg:pypi/torch@2.5.1%2Bcu124", Purl("pypi", "torch", "2.5.1+cu124", {})),
        ("PKG:PyPI/Torch", Purl("pypi", "Torch", None, {})),
        ("pkg:/pypi/torch@1#sub/path", Purl("pypi", "torch", "1", {})),
        (
            "pkg:conda/pytorch@2.5?build=py311_0&subdir=linux-64",
            Purl("conda", "pytorch", "2.5", {"build": "py311_0", "subdir": "linux-64"}),
        ),
        ("pkg:npm/@scope/name", Purl("npm", "name", None, {})),
        ("pkg:npm/%40scope/name@1", Purl("npm", "name", "1", {})),
        ("pypi/torch@1", None),
        ("pkg:pypi", None),
        ("pkg:", None),
        ("pkg:pypi/" + "a" * 1000, None),
    ],
)
def test_package_urls(text: str, purl: Purl | None) -> None:
    assert parse_purl(text) == purl


@pytest.mark.parametrize(
    ("beside", "version", "specifier"),
    [
        ("2.5.1", "2.5.1", None),
        ("2.5.1+cu124", "2.5.1+cu124", None),
        ("1!2.0", "1!2.0", None),
        (">= 4.46, < 5", None, ">=4.46,<5"),
        ("= 4.46", "4.46", None),
        ("4.*", None, "==4.*"),
        ("*", None, "*"),
        ("^4.46", None, None),
        ("NOASSERTION", None, None),
        ("", None, None),
        (None, None, None),
        ("9" * 5000, None, None),
    ],
)
def test_a_version_beside_the_package_url(beside: str | None, version: str | None, specifier: str | None) -> None:
    assert component("pkg:pypi/Torch", "x", beside, "library", HERE) == Package(
        name="torch", version=version, specifier=specifier, location=HERE
    )


@pytest.mark.parametrize(
    ("purl", "source", "unreleased"),
    [
        ("pkg:pypi/peft@0.14.0", "registry", False),
        ("pkg:pypi/peft@0.14.0?vcs_url=git%2Bhttps://git.example/them/peft.git%40v0.14.0", "git", False),
        ("pkg:pypi/peft@0.14.0?vcs_url=git%2Bhttps://git.example/them/peft.git%400123456", "git", True),
        ("pkg:pypi/peft@0.14.0?download_url=https://a.example/peft-0.14.0.tar.gz", "url", False),
        ("pkg:pypi/peft@0.14.0?download_url=file:///wheels/peft-0.14.0.tar.gz", "path", False),
        ("pkg:conda/peft@0.14.0?build=0", "conda", False),
    ],
)
def test_where_it_comes_from(purl: str, source: str, unreleased: bool) -> None:
    found = component(purl, "peft", None, "library", HERE)
    assert isinstance(found, Package)
    assert (found.name, found.version, found.source, found.unreleased) == ("peft", "0.14.0", source, unreleased)


def test_components_of_other_kinds() -> None:
    assert component("pkg:deb/debian/libc6@2.36", "libc6", "2.36", "library", HERE) == "deb"
    assert component("pkg:generic/openssl@3", "openssl", "3", "library", HERE) == "generic"
    assert component(None, "weights.bin", None, "file", HERE) == "file"
    python = component("pkg:generic/python@3.11.9", "python", None, "application", HERE)
    assert python == Package(name="python", version="3.11.9", source="conda", location=HERE)


def test_components_that_cannot_be_read() -> None:
    assert component("torch", "torch", "2", "library", HERE) == Skipped(
        what="a component", reason="its package URL is invalid", location=HERE
    )
    assert component(None, "no name", "2", "library", HERE) == Skipped(
        what="a component", reason="has no valid package name", location=HERE
    )


def test_a_library_without_a_package_url_goes_by_its_name() -> None:
    assert component(None, "My_Ops", "0.1", "", HERE) == Package(name="my-ops", version="0.1", location=HERE)


def test_components_are_gathered_with_one_note_for_all_of_other_kinds() -> None:
    python = Package(name="python", version="3.11.9", source="conda", location=HERE)
    torch = Package(name="torch", version="2.5.1", location=HERE)
    gap = Skipped(what="x", reason="has no version")
    assert gathered(["npm", torch, gap, "npm", "deb", python]) == (
        (torch, python),
        (gap, Skipped(what="3 components", reason="of no Python ecosystem: 1 deb, 2 npm", gap=False)),
        "3.11.9",
    )
    assert gathered([]) == ((), (), None)
