"""conda-lock.yml; the fixture is written by hand."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources import any_format
from gradcompat.sources.conda_lock import read
from tests.sources.listed import facts, rows
from tests.sources.locked import fixture, notes

HEAD = "version: 1\nmetadata:\n  platforms: [linux-64]\npackage:\n"


def text(content: str) -> Document:
    return Document("conda-lock.yml", content)


def test_a_lockfile() -> None:
    environment = read(fixture("conda/conda-lock.yml"))
    assert rows(environment) == [
        ("_libgcc_mutex", "0.1", "conda", 17, 12),
        ("python", "3.11.11", "conda", 27, 12),
        ("python", "3.11.11", "conda", 33, 12),
        ("pytorch", "2.5.1", "conda", 39, 12),
        ("pytorch-lightning", "2.5", "registry", 45, 12),
        ("peft", "0.14.1.dev0", "git", 51, 12),
    ]
    assert [(one.forks, one.extras, one.unreleased) for one in environment.packages] == [
        (("linux-64",), (), False),
        (("linux-64",), (), False),
        (("osx-arm64",), (), False),
        (("linux-64",), (), False),
        (("linux-64",), ("dev",), False),
        (("osx-arm64",), (), True),
    ]
    assert environment.skipped == ()
    assert facts(environment) == ("conda-lock", True, "3.11.11", None)


def test_it_is_known_by_its_content() -> None:
    assert any_format.read(Document("-", fixture("conda/conda-lock.yml").text)).kind == "conda-lock"


def test_whole_value() -> None:
    entry = "- {name: pytorch, version: 2.10, manager: conda, platform: linux-64}\n"
    assert read(text(HEAD + entry)) == Environment(
        source="conda-lock.yml",
        kind="conda-lock",
        packages=(
            Package(
                name="pytorch",
                version="2.10",
                source="conda",
                forks=("linux-64",),
                location=Location(path="conda-lock.yml", line=5, column=28),
            ),
        ),
        closed=True,
        platform="linux",
    )


def test_entries_that_cannot_be_read() -> None:
    entries = """\
- pytorch
- {version: 1}
- {name: a, name: b, manager: conda}
- {name: c, manager: npm}
- {name: d, manager: conda, url: https://conda.example/linux-64/d-1.5-0.conda}
- {name: e, manager: pip}
- {name: [f], manager: pip}
"""
    environment = read(text(HEAD + entries))
    assert rows(environment) == [
        ("d", "1.5", "conda", 9, 10),
        ("e", None, "registry", 10, 10),
    ]
    assert notes(environment) == [
        ("`package[0]`", "is not a mapping", True, 5),
        ("`package[1]`", "has no name", True, 6),
        ("`package[2]`, b,", "has `name` twice", True, 7),
        ("`package[3]`, c,", "is for `npm`, which is neither conda nor pip", True, 8),
        ("`package[6]`", "has no name", True, 11),
    ]
    assert not environment.closed


@pytest.mark.parametrize(
    ("url", "source", "unreleased"),
    [
        ("git+https://git.example/them/peft.git@v0.14.0", "git", False),
        ("git+https://git.example/them/peft.git@main", "git", True),
        ("git+https://git.example/them/peft.git@v0.13.0", "git", True),
        ("file:///wheels/peft-0.14.0-py3-none-any.whl", "path", False),
        ("hg+https://hg.example/peft", "url", True),
        ("https://files.index.example/peft-0.14.0.tar.gz", "registry", False),
    ],
)
def test_where_pip_gets_a_package(url: str, source: str, unreleased: bool) -> None:
    entry = f"- {{name: peft, version: 0.14.0, manager: pip, url: '{url}'}}\n"
    package = read(text(HEAD + entry)).packages[0]
    assert (package.source, package.unreleased) == (source, unreleased)


def test_a_future_version() -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(text(HEAD.replace("1", "2", 1)))
    assert str(caught.value) == "`conda-lock.yml:1`: lockfile version 2 is not supported"
    assert caught.value.hint == "gradcompat reads version 1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`conda-lock.yml`: holds 0 YAML documents instead of one"),
        ("package: []\n", "`conda-lock.yml`: has no `package:` and `metadata:` as a conda-lock.yml has"),
        ("metadata: 1\npackage: []\n", "`conda-lock.yml`: has no `package:` and `metadata:` as a conda-lock.yml has"),
        ("metadata: {}\npackage: {}\n", "`conda-lock.yml:2`: `package` is not a list"),
        ("metadata: {}\npackage: [1]\n", "`conda-lock.yml:2`: `package[0]` is not a mapping"),
        (HEAD + "- {name: a", "`conda-lock.yml:5`: not valid YAML: did not find expected ',' or '}'"),
    ],
)
def test_what_is_no_lockfile(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_an_empty_lockfile() -> None:
    assert read(text(HEAD)).packages == ()
