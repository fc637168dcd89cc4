"""pylock.toml. The fixtures were written by `uv export` and `pip lock` (hosts renamed), that of rare things by hand."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources.pylock import read
from tests.sources.locked import fixture, notes, pins

MINIMAL = """\
lock-version = "1.0"
created-by = "uv"

[[packages]]
name = "torch"
version = "2.5.1+cu124"
"""


def text(content: str) -> Document:
    return Document("pylock.toml", content)


def test_by_uv() -> None:
    environment = read(fixture("pylock/pylock.uv.toml"))
    assert pins(environment) == [
        ("colorama", "0.4.6", "registry", "sys_platform == 'win32'", (), False, 9),
        ("demo", None, "editable", None, (), False, 16),
        ("idna", "3.10", "registry", None, (), False, 21),
        ("iniconfig", "2.0.0", "url", None, (), False, 28),
        ("inner", None, "editable", None, (), False, 32),
        ("packaging", "24.1", "registry", None, (), False, 37),
        ("pluggy", "1.5.0", "registry", None, (), False, 44),
        ("toolbelt", "1.2.0", "git", None, (), False, 51),
    ]
    assert environment.closed
    assert environment.skipped == ()


def test_by_pip() -> None:
    environment = read(fixture("pylock/pylock.pip.toml"))
    assert pins(environment) == [
        ("click", "8.1.7", "registry", None, (), False, 6),
        ("inner", None, "editable", None, (), False, 16),
        ("packaging", "24.1", "registry", None, (), False, 24),
        ("toolbelt", None, "git", None, (), True, 34),  # pip writes no version for it
    ]


def test_rare_things() -> None:
    environment = read(fixture("pylock/pylock.rare.toml"))
    marker = "'gpu' in extras or 'dev' in dependency_groups"
    assert pins(environment) == [
        ("flash-attn", "2.8.3+cu128torch2.10", "path", marker, ("gpu", "dev"), False, 8),
        ("old", "1.0", "url", None, (), True, 14),
        ("plain", None, "directory", None, (), False, 18),
        ("toolbelt", "1.2.0", "git", None, (), True, 23),
    ]


def test_a_whole_environment() -> None:
    assert read(text(MINIMAL)) == Environment(
        source="pylock.toml",
        kind="pylock.toml",
        packages=(
            Package(name="torch", version="2.5.1+cu124", location=Location(path="pylock.toml", line=6, column=11)),
        ),
        closed=True,
    )


def test_the_same_name_twice() -> None:
    content = MINIMAL + MINIMAL[MINIMAL.index("[[") :].replace("2.5.1+cu124", "2.6.0")
    assert [(one.version, one.location.line) for one in read(text(content)).packages] == [
        ("2.5.1+cu124", 6),
        ("2.6.0", 9),
    ]


def test_one_bad_entry_among_good_ones() -> None:
    environment = read(text(MINIMAL + '[[packages]]\nname = "a"\nversion = "' + "9" * 5000 + '"\n'))
    assert [package.name for package in environment.packages] == ["torch"]
    assert notes(environment) == [("a", "its version is invalid", True, 9)]


def test_no_packages_is_not_clean() -> None:
    assert notes(read(text('lock-version = "1.0"'))) == [("pylock.toml", "locks no packages at all", True, None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`pylock.toml`: has no `lock-version` at its top as pylock.toml does"),
        ("lock-version = 1.0", "`pylock.toml`: has no `lock-version` at its top as pylock.toml does"),
        ('lock-version = "1.0"\npackages = ""', "`pylock.toml`: `packages` is not an array of tables"),
        ("torch==2.5.1 \\\n    --hash=00", "`pylock.toml:1`: not valid TOML: Invalid value"),
    ],
)
def test_malformed(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


@pytest.mark.parametrize("version", ["2", "2.0", "10.1", "one"])
def test_another_version(version: str) -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(text(MINIMAL.replace('"1.0"', f'"{version}"')))
    assert str(caught.value) == f"`pylock.toml`: lock version {version} is not supported"
