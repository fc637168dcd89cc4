"""Explicit conda lists; the fixture is written by hand."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources import any_format
from gradcompat.sources.conda_explicit import read
from tests.sources.listed import facts, rows
from tests.sources.locked import fixture, notes

LINE = "https://conda.example/main/linux-64/pytorch-2.5.1-py3.11_0.conda"


def text(content: str) -> Document:
    return Document("spec-file.txt", content)


def test_a_list() -> None:
    environment = read(fixture("conda/spec-file.txt"))
    assert rows(environment) == [
        ("transformers", "4.49.0", "url", 4, 72),
        ("tzdata", "2025a", "conda", 6, 49),
        ("python", "3.11.11", "conda", 7, 51),
        ("pytorch", "2.5.1", "conda", 8, 48),
        ("x264", "1!164.3095", "conda", 9, 49),
    ]
    assert notes(environment) == [("a line", "is not the URL of a conda package", True, 10)]
    # A line that cannot be read may be any package.
    assert facts(environment) == ("conda-explicit", False, "3.11.11", "linux")


def test_it_is_known_by_its_content() -> None:
    assert any_format.read(fixture("conda/spec-file.txt")).kind == "conda-explicit"


def test_whole_value_with_crlf_and_no_stated_platform() -> None:
    pytorch = Package(
        name="pytorch",
        version="2.5.1",
        source="conda",
        build="py3.11_0",
        location=Location(path="spec-file.txt", line=2, column=45),
    )
    assert read(text(f"@EXPLICIT\r\n{LINE}\r\n\r\n")) == Environment(
        source="spec-file.txt", kind="conda-explicit", packages=(pytorch,), closed=True, platform="linux"
    )


def test_a_pip_comment_that_cannot_be_read() -> None:
    environment = read(text(f"@EXPLICIT\n# pip ???\n# pipe dreams\n{LINE}\n"))
    assert [note[0] for note in notes(environment)] == ["a requirement"]


def test_a_package_that_stands_twice() -> None:
    assert len(read(text(f"@EXPLICIT\n{LINE}\n{LINE}\n")).packages) == 2


def test_an_empty_environment() -> None:
    assert read(text("@EXPLICIT\n")).packages == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`spec-file.txt`: has no line `@EXPLICIT`"),
        (LINE, "`spec-file.txt`: has no line `@EXPLICIT`"),
        ("@EXPLICIT\nhttps://", "`spec-file.txt`: no line is the URL of a conda package"),
        ("@EXPLICIT\n" + "\n" * 200_000, "`spec-file.txt:200001`: is longer than 200,000 lines"),
    ],
)
def test_what_is_no_list(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message
