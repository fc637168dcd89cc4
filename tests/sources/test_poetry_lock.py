"""poetry.lock. The fixtures of 2.0 and 2.1 were written by Poetry 1.8.5 and 2.5.1 (hosts renamed), 1.1 by hand."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources.poetry_lock import read
from tests.sources.locked import fixture, notes, pins

MINIMAL = """\
[[package]]
name = "Ruamel.YAML"
version = "0.18.6"

[metadata]
lock-version = "2.1"
content-hash = "00"
"""


def text(content: str) -> Document:
    return Document("poetry.lock", content)


def test_lock_version_2_1() -> None:
    environment = read(fixture("poetry/poetry-2.1.lock"))
    colorama = (
        '(sys_platform == "win32" or python_version == "3.10" or extra == "cli" and platform_system == "Windows")'
        ' or (python_version == "3.10")'
    )
    assert pins(environment) == [
        ("click", "8.1.7", "registry", 'extra == "cli"', ("cli",), False, 5),
        ("colorama", "0.4.6", "registry", colorama, (), False, 26),
        ("idna", "3.20", "registry", None, (), False, 44),
        ("iniconfig", "2.0.0", "registry", None, ("dev",), False, 64),
        ("inner", "0.2.0", "editable", None, (), False, 81),
        ("packaging", "24.1", "registry", None, (), False, 95),
        ("toolbelt", "1.2.0", "git", None, (), False, 112),
    ]
    assert environment.closed
    assert environment.skipped == ()


def test_lock_version_2_0() -> None:
    environment = read(fixture("poetry/poetry-2.0.lock"))
    assert pins(environment) == [
        ("click", "8.1.7", "registry", None, ("cli",), False, 5),
        ("colorama", "0.4.6", "registry", None, (), False, 24),
        ("iniconfig", "2.0.0", "registry", None, (), False, 40),
        ("packaging", "23.2", "registry", None, (), False, 56),
        ("packaging", "24.1", "registry", None, (), False, 72),
        ("toolbelt", "1.2.0", "git", None, (), True, 88),  # of a branch
    ]


def test_lock_version_1_1() -> None:
    environment = read(fixture("poetry/poetry-1.1.lock"))
    assert pins(environment) == [
        ("attention-kernels", "0.2.0", "url", None, ("kernels",), False, 3),
        ("attention-kernels", "0.2.0", "url", None, ("kernels",), False, 16),
        ("iniconfig", "1.1.1", "registry", None, ("dev",), False, 29),
        ("local-wheel", "1.0", "path", None, (), False, 37),
        ("tensordict", "0.4.0+551331d", "git", None, (), True, 49),
    ]


def test_a_whole_environment() -> None:
    assert read(text(MINIMAL)) == Environment(
        source="poetry.lock",
        kind="poetry.lock",
        packages=(
            Package(name="ruamel-yaml", version="0.18.6", location=Location(path="poetry.lock", line=3, column=11)),
        ),
        closed=True,
    )


@pytest.mark.parametrize(
    ("markers", "groups", "expected"),
    [
        ("\"os_name == 'a'\"", '["main"]', "os_name == 'a'"),
        ('""', '["main"]', None),
        ("7", '["main"]', None),
        ("\"os_name == 'a' or token\"", '["main"]', "…"),  # no marker, and perhaps a secret
        ('{main = "extra", dev = "os_name"}', '["main", "dev"]', "(extra) or (os_name)"),
        ('{main = "extra", dev = "extra"}', '["main", "dev"]', "extra"),
        ('{main = "extra"}', '["main", "dev"]', None),  # in dev it applies everywhere
        ('{main = "extra"}', "[]", "extra"),
        ("{}", '["main"]', None),
        ("{}", "[]", None),
    ],
)
def test_markers(markers: str, groups: str, expected: str | None) -> None:
    content = MINIMAL.replace('"0.18.6"', f'"0.18.6"\nmarkers = {markers}\ngroups = {groups}')
    (package,) = read(text(content)).packages
    assert package.marker == expected


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.0", "2.1", "2.9"])
def test_supported_versions(version: str) -> None:
    assert len(read(text(MINIMAL.replace('"2.1"', f'"{version}"'))).packages) == 1


def test_before_there_were_lock_versions() -> None:
    assert len(read(text(MINIMAL.replace('lock-version = "2.1"\n', ""))).packages) == 1


def test_one_bad_entry_among_good_ones() -> None:
    content = """\
package = [7, {version = "1"}, {name = "torch", version = 2.5}, {name = "", version = "1"}, {name = "a b"},
  {name = "torch", version = "2.5.1", source = 7, groups = 7, optional = true}, {name = "x\\u001b[31m"}]
extras = 7
[metadata]
content-hash = "00"
"""
    environment = read(text(content))
    assert pins(environment) == [("torch", "2.5.1", "registry", None, (), False, None)]
    assert notes(environment) == [
        ("an entry", "has no valid package name", True, None),
        ("an entry", "has no valid package name", True, None),
        ("torch", "its version is invalid", True, None),
        ("an entry", "has no valid package name", True, None),
        ("an entry", "has no valid package name", True, None),
        ("an entry", "has no valid package name", True, None),
    ]


def test_no_packages_is_not_clean() -> None:
    environment = read(text('[metadata]\ncontent-hash = "00"\n'))
    assert environment.packages == ()
    assert notes(environment) == [("poetry.lock", "locks no packages at all", True, None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`poetry.lock`: has no `[metadata]` with a `content-hash` as poetry.lock does"),
        ("metadata = 7", "`poetry.lock`: has no `[metadata]` with a `content-hash` as poetry.lock does"),
        ("[metadata]\nlock-version = 2", "`poetry.lock`: `lock-version` is not text"),
        ('package = 7\n[metadata]\ncontent-hash = ""', "`poetry.lock`: `package` is not an array of tables"),
        (
            MINIMAL[:40],
            "`poetry.lock`: not valid TOML: Expected '=' after a key in a key/value pair (at end of document)",
        ),
        (MINIMAL + MINIMAL, "`poetry.lock:12`: not valid TOML: Cannot declare a key twice"),
        ("a = " + "[" * 100_000, "`poetry.lock`: nested too deeply"),
    ],
)
def test_malformed(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_a_future_version() -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(text(MINIMAL.replace('"2.1"', '"3.0"')))
    assert str(caught.value) == "`poetry.lock`: lock version 3.0 is not supported"
    assert caught.value.hint == "gradcompat reads versions 1.0 to 2.1"
