"""Lists of pip and uv: the real ones, and what is left of them after a terminal and an issue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.errors import Malformed, SourceError
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.any_format import read as read_any
from gradcompat.sources.pip_list import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "pip-list"

INSTALLED = [
    ("jinja2", "3.1.4", "registry"),
    ("markupsafe", "3.0.4", "registry"),
    ("packaging", "26.3", "registry"),
    ("pip", "26.3", "registry"),
    ("setuptools", "84.2.1", "registry"),
    ("six", "1.16.0", "registry"),
    ("tagged-demo", "1.2.0", "registry"),
    ("trainer-demo", "0.3.0", "editable"),
    ("typing-extensions", "4.12.2", "registry"),
    ("wheel", "0.44.0", "registry"),
]

Row = tuple[int | None, int | None, str, str | None, str]


def of(text: str) -> Environment:
    return read(Document("a.txt", text))


def rows(environment: Environment) -> list[Row]:
    return [
        (package.location.line, package.location.column, package.name, package.version, package.source)
        for package in environment.packages
    ]


@pytest.mark.parametrize("name", ["columns.txt", "verbose.txt", "uv.txt"])
def test_columns(name: str) -> None:
    environment = read(read_document(FIXTURES / name, name))
    assert rows(environment) == [(line, 19, *entry) for line, entry in enumerate(INSTALLED, start=3)]
    assert replace(environment, packages=()) == Environment(source=name, kind="pip-list", packages=(), closed=True)


@pytest.mark.parametrize("name", ["list.json", "uv.json"])
def test_json(name: str) -> None:
    document = read_document(FIXTURES / name, name)
    environment = read(document)
    assert [row[2:] for row in rows(environment)] == INSTALLED
    for package in environment.packages:
        assert package.location.line == 1
        assert document.text[(package.location.column or 0) - 1 :].startswith(f'"{package.version}"')
    assert replace(environment, packages=()) == Environment(source=name, kind="pip-list", packages=(), closed=True)


def test_freeze() -> None:
    environment = read(read_document(FIXTURES / "freeze.txt", "freeze.txt"))
    assert [row[2:4] for row in rows(environment)] == [entry[:2] for entry in INSTALLED]
    assert rows(environment)[5] == (6, 6, "six", "1.16.0", "registry")
    assert not environment.closed


def test_outdated_packages_are_a_part_of_them() -> None:
    environment = read(read_document(FIXTURES / "outdated.txt", "outdated.txt"))
    assert rows(environment)[0] == (3, 19, "jinja2", "3.1.4", "registry")
    assert (len(environment.packages), environment.closed) == (4, False)
    json = of('[{"name": "six", "version": "1.16.0", "latest_version": "1.17.0"}]')
    assert (rows(json), json.closed) == ([(1, 29, "six", "1.16.0", "registry")], False)


PASTE = """Hello, this is what I have in 2024:

> ```
> (env) $ pip list
> Package      Version
> ------------ -----------
> torch        2.5.1+cu124
> Transformers 4.49.0
> pytorch-triton-rocm 3.2.0+git0d4682f0
> trainer      unknown     /home/user/trainer
> ```

And python 3.10 with cuda 12.4
GPU          A100
trl          0.9.6
"""


def test_a_list_in_the_middle_of_a_text() -> None:
    environment = of(PASTE)
    assert environment == Environment(
        source="a.txt",
        kind="pip-list",
        closed=True,
        packages=(
            Package(name="torch", version="2.5.1+cu124", location=Location(path="a.txt", line=7, column=16)),
            Package(name="transformers", version="4.49.0", location=Location(path="a.txt", line=8, column=16)),
            Package(
                name="pytorch-triton-rocm",
                version="3.2.0+git0d4682f0",
                location=Location(path="a.txt", line=9, column=23),
            ),
            Package(
                name="trainer",
                version="unknown",
                source="editable",
                location=Location(path="a.txt", line=10, column=16),
            ),
            Package(name="trl", version="0.9.6", location=Location(path="a.txt", line=15, column=14)),
        ),
        skipped=(Skipped(what="4 lines", reason="outside the list", gap=False),),
    )


def test_a_line_that_is_cut_is_a_gap() -> None:
    environment = of("Package Version\n------- -------\ntorch   2.5.1\ntransfor")
    assert rows(environment) == [(3, 9, "torch", "2.5.1", "registry")]
    assert environment.skipped == (
        Skipped(what="a line", reason="has no version", location=Location(path="a.txt", line=4, column=1)),
    )
    assert not environment.closed


def test_two_lists_are_no_single_environment() -> None:
    table = "Package Version\n------- -------\ntorch   2.5.1\n"
    environment = of(table + "\n" + table.replace("2.5.1", "2.6.0"))
    assert rows(environment) == [(3, 9, "torch", "2.5.1", "registry"), (7, 9, "torch", "2.6.0", "registry")]
    assert not environment.closed


def test_without_a_header() -> None:
    environment = of(
        "torch 2.5.1\n\x1b[1mtrl\x1b[0m   0.9.6\n$ pip list\nWARNING: pip is old\n[notice] really\n"
        "my-app 0.1 C:\\src\\app\npytorch 2.4.0 py3.11_cuda12.4_cudnn9.1.0_0 pytorch\npeft 0.14.0 pypi_0 pypi\n"
        "old (1.2.3, /home/user/old)\naccelerate==1.4.0\ntransformers 4.49.0 is broken\ndeepspeed main\n"
    )
    assert rows(environment) == [
        (1, 7, "torch", "2.5.1", "registry"),
        (2, None, "trl", "0.9.6", "registry"),
        (6, 8, "my-app", "0.1", "editable"),
        (7, 9, "pytorch", "2.4.0", "conda"),
        (8, 6, "peft", "0.14.0", "registry"),
        (9, 6, "old", "1.2.3", "editable"),
        (10, 13, "accelerate", "1.4.0", "registry"),
    ]
    assert [(one.what, one.reason, one.gap) for one in environment.skipped] == [
        ("a line", "is not a line of a package list", True),
        ("a line", "is not a line of a package list", True),
    ]
    assert not environment.closed


def test_an_empty_list_is_a_whole_environment_and_a_bare_header_is_not() -> None:
    assert of("[]") == Environment(source="a.txt", kind="pip-list", packages=(), closed=True)
    assert not of("Package Version\n------- -------\n").closed


def test_elements_of_json_that_are_none() -> None:
    environment = of('[{"name": "torch", "version": "2.5.1"},\n {"name": "trl", "version": 1}, 3, {"version": "1"}]')
    assert rows(environment) == [(1, 31, "torch", "2.5.1", "registry")]
    assert [(one.what, one.reason, one.location) for one in environment.skipped] == [
        ("element 1", "has no version", Location(path="a.txt", line=2, column=2)),
        ("element 2", "has no name", Location(path="a.txt", line=2, column=33)),
        ("element 3", "has no name", Location(path="a.txt", line=2, column=36)),
    ]
    assert not environment.closed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`a.txt`: has no line that `pip list` writes"),
        ("\nDear all,\nit is broken", "`a.txt:2`: has no line that `pip list` writes"),
        ("[1, 2]", "`a.txt`: has no element with a name and a version"),
        ('[{"name": "torch", ', "`a.txt:1`: not valid JSON: Expecting property name enclosed in double quotes"),
        ("[" * 100_000, "`a.txt`: nested too deeply"),
    ],
)
def test_what_is_no_list(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        of(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["columns.txt", "list.json", "uv.txt", "uv.json", "verbose.txt"])
def test_the_content_alone_says_what_it_is(name: str) -> None:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    assert read_any(Document("-", text)).kind == "pip-list"


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(["Package Version\n", "--- ---\n", "a 1\n", "a", " 1.0", "\n", "> ", "[", "{}", "\x1b[1m"])
    ).map("".join)
)
def test_any_text_gives_an_environment_or_an_error(text: str) -> None:
    try:
        environment = of(text)
    except SourceError:
        return
    assert all(package.location.line and package.name for package in environment.packages)
