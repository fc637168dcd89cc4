"""Pipfile.lock. The fixture was written by Pipenv 2026.10.3 (hosts renamed)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources.pipfile_lock import read
from tests.sources.locked import fixture, notes, pins


def lock(**sections: Any) -> Document:
    return Document("Pipfile.lock", json.dumps({"_meta": {"pipfile-spec": 6}, **sections}, indent=1))


def test_by_pipenv() -> None:
    environment = read(fixture("pipenv/Pipfile.lock"))
    assert pins(environment) == [
        ("colorama", "0.4.6", "registry", None, (), False, 24),
        ("inner", None, "editable", None, (), False, 26),
        ("packaging", "24.1", "registry", "python_version >= '3.8'", (), False, 37),
        ("toolbelt", None, "git", None, (), True, 39),
        ("iniconfig", "2.0.0", "registry", "python_version >= '3.7'", ("develop",), False, 52),
        ("packaging", "24.1", "registry", "python_version >= '3.8'", ("develop",), False, 61),
        ("click", "8.1.7", "registry", "python_version >= '3.7'", ("docs",), False, 72),
    ]
    assert environment.python == "3.11"
    assert environment.closed
    assert environment.skipped == ()


def test_a_whole_environment() -> None:
    text = '{"_meta": {"requires": {"python_full_version": "3.11.9", "python_version": "3.11"}}, "default":\n'
    text += ' {"Jaraco.Context": {"version": "==2.4.1+rocm6.1"}}}'
    assert read(Document("Pipfile.lock", text)) == Environment(
        source="Pipfile.lock",
        kind="Pipfile.lock",
        packages=(
            Package(
                name="jaraco-context",
                version="2.4.1+rocm6.1",
                location=Location(path="Pipfile.lock", line=2, column=36),
            ),
        ),
        closed=True,
        python="3.11.9",
    )


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"version": "==1.0"}, ("1.0", None, "registry", False)),
        ("==1.0", ("1.0", None, "registry", False)),
        ({"version": "===1.0"}, ("1.0", None, "registry", False)),
        ({"version": ">=1.0,<2"}, (None, ">=1.0,<2", "registry", False)),
        ({"version": "==1.*"}, (None, "==1.*", "registry", False)),
        ("*", (None, "*", "registry", False)),
        ({"file": "http://index.example/a.whl"}, (None, None, "url", False)),
        ({"file": "wheels/a.whl"}, (None, None, "path", False)),
        ({"file": "file:///a.whl"}, (None, None, "path", False)),
        ({"file": "http://index.example/a.whl", "version": "==1.0", "index": "x"}, ("1.0", None, "registry", False)),
        ({"path": "."}, (None, None, "directory", False)),
        ({"git": "https://git.example/a", "ref": "v1.0", "version": "==1.0"}, ("1.0", None, "git", False)),
        ({"git": "https://git.example/a", "ref": "main"}, (None, None, "git", True)),
        ({}, (None, None, "registry", False)),
    ],
)
def test_entries(entry: Any, expected: tuple[str | None, str | None, str, bool]) -> None:
    (package,) = read(lock(default={"a": entry})).packages
    assert (package.version, package.specifier, package.source, package.unreleased) == expected


def test_a_lock_of_nothing_is_not_clean() -> None:
    environment = read(lock(default={}, develop={}))
    assert environment.packages == ()
    assert notes(environment) == [("Pipfile.lock", "locks no packages at all", True, None)]


def test_one_bad_entry_among_good_ones() -> None:
    environment = read(
        lock(default={"a": 7, "b": {"version": 1}, "c": {"version": "~1"}, "": {}, "d": "==1"}, develop=[])
    )
    assert [package.name for package in environment.packages] == ["d"]
    assert notes(environment) == [
        ("a", "is not a table", True, 6),
        ("b", "its version is invalid", True, 8),
        ("c", "its version is invalid", True, 11),
        ("an entry", "has no valid package name", True, 13),
        ("develop", "is not a table of packages", True, 16),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`Pipfile.lock:1`: not valid JSON: Expecting value"),
        ("[]", "`Pipfile.lock`: has no `_meta` as Pipfile.lock does"),
        ('{"_meta": []}', "`Pipfile.lock`: has no `_meta` as Pipfile.lock does"),
        ('{"_meta": {"pipfile-spec": "6"}}', "`Pipfile.lock`: `pipfile-spec` is not a number"),
        ('{"_meta": {},\n "default": {"a": "==1"', "`Pipfile.lock:2`: not valid JSON: Expecting ',' delimiter"),
        ('{"_meta": {"a":' * 50_000, "`Pipfile.lock`: nested too deeply"),
    ],
)
def test_malformed(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(Document("Pipfile.lock", content))
    assert str(caught.value) == message


def test_a_future_specification() -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(Document("Pipfile.lock", '{"_meta": {"pipfile-spec": 7}}'))
    assert str(caught.value) == "`Pipfile.lock`: Pipfile specification 7 is not supported"
