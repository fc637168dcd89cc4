"""JSON of pip: what is installed, and what would be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.errors import Malformed, SourceError, UnsupportedFormatVersion
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.any_format import read as read_any
from gradcompat.sources.pip_inspect import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "pip-inspect"


def of(content: Any) -> Environment:
    return read(Document("a.json", content if isinstance(content, str) else json.dumps(content)))


def test_inspect() -> None:
    environment = read(read_document(FIXTURES / "inspect.json", "inspect.json"))
    assert [
        (package.location.line, package.location.column, package.name, package.version, package.source)
        for package in environment.packages
    ] == [
        (9, 20, "tagged-demo", "1.2.0", "git"),
        (27, 20, "trainer-demo", "0.3.0", "editable"),
        (43, 20, "packaging", "26.3", "registry"),
        (54, 20, "typing-extensions", "4.12.2", "registry"),
        (65, 20, "setuptools", "84.2.1", "registry"),
        (79, 20, "wheel", "0.44.0", "path"),
        (99, 20, "jinja2", "3.1.4", "registry"),
        (110, 20, "six", "1.16.0", "registry"),
        (121, 20, "pip", "26.3", "registry"),
        (132, 20, "markupsafe", "3.0.4", "registry"),
    ]
    assert not any(package.unreleased for package in environment.packages)  # tagged-demo is from the tag v1.2.0
    assert replace(environment, packages=()) == Environment(
        source="inspect.json", kind="pip-inspect", packages=(), closed=True, python="3.11.7", platform="linux"
    )


def test_a_report_of_an_installation_is_no_whole_environment() -> None:
    assert read(read_document(FIXTURES / "install-report.json", "r.json")) == Environment(
        source="r.json",
        kind="pip-inspect",
        packages=(
            Package(
                name="wheel", version="0.44.0", source="path", location=Location(path="r.json", line=21, column=20)
            ),
            Package(name="six", version="1.16.0", location=Location(path="r.json", line=41, column=20)),
        ),
        closed=False,
        python="3.11.7",
        platform="linux",
    )


@pytest.mark.parametrize(
    ("direct", "source", "unreleased"),
    [
        (None, "registry", False),
        ("text", "registry", False),
        ({"url": "https://git.example/x", "vcs_info": {"vcs": "git", "commit_id": "0"}}, "git", True),
        ({"vcs_info": {"vcs": "git", "requested_revision": "v1.2.0"}}, "git", False),
        ({"vcs_info": {"vcs": "git", "requested_revision": "main"}}, "git", True),
        ({"vcs_info": {"vcs": "hg"}}, "url", True),
        ({"url": "file:///src", "dir_info": {}}, "directory", False),
        ({"url": "file:///src", "dir_info": {"editable": True}}, "editable", False),
        ({"url": "file:///x.whl", "archive_info": {}}, "path", False),
        ({"url": "https://files.example/x.whl", "archive_info": {}}, "url", False),
        ({"url": 3}, "url", False),
    ],
)
def test_where_a_package_comes_from(direct: Any, source: str, unreleased: bool) -> None:
    entry = {"metadata": {"name": "X.y", "version": "1.2.0"}, "direct_url": direct}
    (package,) = of({"version": "1", "installed": [entry]}).packages
    assert (package.name, package.source, package.unreleased) == ("x-y", source, unreleased)


def test_entries_that_are_none_and_packages_that_stand_twice() -> None:
    environment = of(
        '{"version": "1", "installed": [{"metadata": {"name": "a", "version": "1"}}, {"metadata": {}}, 3,\n'
        '{"metadata": {"name": "a", "version": null}}]}'
    )
    assert environment == Environment(
        source="a.json",
        kind="pip-inspect",
        packages=(
            Package(name="a", version="1", location=Location(path="a.json", line=1, column=70)),
            Package(name="a", version=None, location=Location(path="a.json", line=2, column=39)),
        ),
        closed=False,
        skipped=(
            Skipped(what="installed[1]", reason="has no name", location=Location(path="a.json", line=1, column=77)),
            Skipped(what="installed[2]", reason="has no name", location=Location(path="a.json", line=1, column=95)),
        ),
    )


@pytest.mark.parametrize(
    ("environment", "python", "platform"),
    [
        ({"python_full_version": "3.11.7+", "sys_platform": "win32"}, "3.11.7+", "win32"),
        ({"python_full_version": "3.13.0rc1", "sys_platform": "darwin"}, "3.13.0rc1", "darwin"),
        ({"python_full_version": 3, "sys_platform": "java"}, None, None),
        ({"python_full_version": "9" * 5000, "sys_platform": ["linux"]}, None, None),
        ([], None, None),
    ],
)
def test_the_interpreter(environment: Any, python: str | None, platform: str | None) -> None:
    found = of({"version": "1", "installed": [], "environment": environment})
    assert (found.python, found.platform) == (python, platform)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`a.json:1`: not valid JSON: Expecting value"),
        ('{"version": "1", "installed": [', "`a.json:1`: not valid JSON: Expecting value"),
        ("[]", "`a.json`: has no `installed` at its top as `pip inspect` writes"),
        ({"installed": []}, "`a.json`: has no `version` as `pip inspect` writes"),
        ({"version": 1, "installed": []}, "`a.json`: has no `version` as `pip inspect` writes"),
        ({"version": "1", "installed": {}}, "`a.json`: `installed` is not an array"),
        ('{"version": "1", "installed": ' + "[" * 100_000, "`a.json`: nested too deeply"),
    ],
)
def test_what_is_no_inspection(content: Any, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        of(content)
    assert str(caught.value) == message


def test_a_later_version() -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        of({"version": "2", "installed": []})
    assert str(caught.value) == "`a.json`: format version 2 is not supported"
    assert caught.value.hint == "gradcompat reads versions 0 and 1"


@pytest.mark.parametrize("name", ["inspect.json", "install-report.json"])
def test_the_content_alone_says_what_it_is(name: str) -> None:
    assert read_any(Document("-", (FIXTURES / name).read_text(encoding="utf-8"))).kind == "pip-inspect"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "name", "version", "direct_url", "url", "vcs_info"]), inner)
    ),
    max_leaves=10,
)


@given(_JSON, _JSON)
def test_any_json_gives_an_environment_or_an_error(entries: Any, environment: Any) -> None:
    try:
        found = of({"version": "1", "installed": entries, "environment": environment})
    except SourceError:
        return
    assert len(found.packages) + len(found.skipped) == len(entries)
