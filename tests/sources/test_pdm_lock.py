"""pdm.lock. The fixture of 4.5 was written by PDM 2.24.2 (hosts renamed), that of 4.2 by hand."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources.pdm_lock import read
from tests.sources.locked import fixture, notes, pins

MINIMAL = """\
[metadata]
lock_version = "4.4.1"

[[package]]
name = "torch"
version = "2.5.1+cu124"
"""


def text(content: str) -> Document:
    return Document("pdm.lock", content)


def test_lock_version_4_5() -> None:
    environment = read(fixture("pdm/pdm-4.5.lock"))
    assert pins(environment) == [
        ("colorama", "0.4.6", "registry", None, (), False, 15),
        ("coverage", "7.6.1", "registry", None, (), False, 26),
        ("coverage", "7.6.1", "registry", None, (), False, 37),  # with an extra
        ("idna", "3.20", "registry", None, (), False, 53),
        ("iniconfig", "2.0.0", "registry", None, ("dev",), False, 64),
        ("inner", "0.2.0", "directory", None, (), False, 75),
        ("packaging", "24.1", "registry", None, (), False, 83),
        ("tomli", "2.5.0", "registry", 'python_full_version <= "3.11.0a6"', (), False, 94),
        ("toolbelt", "1.2.0", "git", None, (), False, 106),
    ]
    assert environment.closed
    assert environment.skipped == ()


def test_lock_version_4_2() -> None:
    environment = read(fixture("pdm/pdm-4.2.lock"))
    assert pins(environment) == [
        ("detectron2", "0.6", "git", None, (), True, 6),
        ("fsspec", "2023.6.0", "registry", None, (), False, 15),
        ("fsspec", "2023.6.0", "registry", None, (), False, 20),
        ("local-wheel", "1.0", "path", None, (), False, 30),
        ("member", "0.1.0", "editable", None, (), False, 36),
        ("remote", "2.0", "url", None, (), False, 43),
    ]


def test_a_whole_environment() -> None:
    assert read(text(MINIMAL)) == Environment(
        source="pdm.lock",
        kind="pdm.lock",
        packages=(Package(name="torch", version="2.5.1+cu124", location=Location(path="pdm.lock", line=6, column=11)),),
        closed=True,
    )


def test_one_bad_entry_among_good_ones() -> None:
    environment = read(text(MINIMAL + '[[package]]\nname = "a"\nversion = []\n[[package]]\nversion = "1"\n'))
    assert [package.name for package in environment.packages] == ["torch"]
    assert notes(environment) == [
        ("a", "its version is invalid", True, 9),
        ("an entry", "has no valid package name", True, None),
    ]


def test_no_packages_is_not_clean() -> None:
    environment = read(text(MINIMAL[:35]))
    assert notes(environment) == [("pdm.lock", "locks no packages at all", True, None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`pdm.lock`: has no `[metadata]` with a `lock_version` as pdm.lock does"),
        ("[metadata]\nlock_version = 4", "`pdm.lock`: has no `[metadata]` with a `lock_version` as pdm.lock does"),
        ("package = {}\n" + MINIMAL[:35], "`pdm.lock`: `package` is not an array of tables"),
        (MINIMAL[:-3], "`pdm.lock`: not valid TOML: Unterminated string (at end of document)"),
    ],
)
def test_malformed(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


@pytest.mark.parametrize("version", ["3.1", "5.0", "40"])
def test_another_version(version: str) -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(text(MINIMAL.replace("4.4.1", version)))
    assert str(caught.value) == f"`pdm.lock`: lock version {version} is not supported"
