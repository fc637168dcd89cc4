"""environment.yml; the fixtures are written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document, decode, read_document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources.conda_environment import read
from tests.sources.listed import facts, rows
from tests.sources.locked import fixture, notes


def text(content: str) -> Document:
    return Document("environment.yml", content)


def test_what_somebody_asked_for() -> None:
    environment = read(fixture("conda/environment.yml"))
    assert rows(environment) == [
        ("python", "==3.11.*", "conda", 6, 11),
        ("pytorch", "==2.5.*", "conda", 7, 21),
        ("pytorch-cuda", "==12.4.*", "conda", 8, 26),
        ("numpy", ">=1.26", "conda", 16, 11),
        ("x264", "==1!164.3095.*", "conda", 17, 9),
        ("jpeg", None, "conda", 18, 9),
        ("scipy", "==1.14.*", "conda", 19, 34),
        ("torchvision", "0.20.1", "conda", 20, 17),
        ("transformers", "4.49.0", "registry", 12, 21),
        ("accelerate", ">=1.2,<2", "registry", 13, 18),
        ("peft", "0.14.0", "git", 14, 49),
    ]
    assert notes(environment) == [
        ("a package", "its version cannot be compared", False, 18),
        ("a requirement", "a project in a folder: neither its name nor its version stand here", False, 15),
    ]
    assert facts(environment) == ("conda-environment", False, "3.11", None)


def test_an_export_is_complete() -> None:
    environment = read(fixture("conda/export.yml"))
    assert rows(environment) == [
        ("_libgcc_mutex", "0.1", "conda", 5, 19),
        ("openssl", "3.4.0", "conda", 6, 13),
        ("python", "3.11.11", "conda", 7, 12),
        ("pytorch", "2.5.1", "conda", 8, 13),
        ("transformers", "4.49.0", "registry", 10, 23),
    ]
    assert facts(environment) == ("conda-environment", True, "3.11.11", None)


@pytest.mark.parametrize(
    ("content", "closed"),
    [
        ("[python=3.11.1=h_0, openssl=3=h_0]", True),
        ("[python=3.11.1, openssl=3]\nprefix: /opt/tiny", True),
        (f"[python=3.11.1, openssl=3, {', '.join(f'a{number}=1.0' for number in range(30))}]", True),
        (f"[python=3.11.1, openssl=3, a, {', '.join(f'a{number}=1.0' for number in range(30))}]", False),
        ("[python=3.11.1, openssl=3]", False),
        ("[python=3.11.1=h_0, openssl=3=h_0, pytorch]\nprefix: /opt/tiny", False),
        ("[python=3.11.1, pytorch=2.5.1]\nprefix: /opt/tiny", False),  # as --from-history writes
        ("[python=3.11.1=h_0, openssl=3=h_0, {pip: [transformers]}]", False),
        ("[python=3.11.1=h_0, openssl=3=h_0, {pip: [transformers==4.49.0]}]", True),
        ("[python=3.11.1=h_0, openssl=3=h_0, '???']", False),
    ],
)
def test_when_it_counts_as_complete(content: str, closed: bool) -> None:
    assert read(text(f"dependencies: {content}\n")).closed is closed


@pytest.mark.parametrize(
    ("line", "python"),
    [("python=3.11.4", "3.11.4"), ("python==3.11", "3.11"), ("python=3.11", "3.11"), ("python!=3.11.4.*", None)],
)
def test_the_interpreter(line: str, python: str | None) -> None:
    assert read(text(f"dependencies:\n- {line}\n")).python == python


def test_whole_value() -> None:
    assert read(text("dependencies: [pytorch::pytorch==2.5.1]\n")) == Environment(
        source="environment.yml",
        kind="conda-environment",
        packages=(
            Package(
                name="pytorch",
                version="2.5.1",
                source="conda",
                location=Location(path="environment.yml", line=1, column=34),
            ),
        ),
        closed=False,
    )


def test_requirements_beside_it_are_read(tmp_path: Path) -> None:
    tmp_path.joinpath("more.txt").write_text("\ntransformers==4.49.0\n")
    tmp_path.joinpath("environment.yml").write_text("dependencies:\n- pip:\n  - peft\n  - -r more.txt\n")
    environment = read(read_document(tmp_path / "environment.yml", "environment.yml"))
    assert [(one.name, str(one.location)) for one in environment.packages] == [
        ("peft", "environment.yml:3"),
        ("transformers", "more.txt:2"),
    ]


def test_what_cannot_be_read_is_told_and_the_rest_is_read() -> None:
    content = """\
dependencies:
- pytorch==2.5.1
- [nested]
- npm: [left-pad]
- "== 3"
- pip:
  - |
    transformers==4.49.0
    peft==0.14.0
  - torch: 2.0
  - [a]
- pip: text
- https://conda.example/conda-forge/linux-64/numpy-1.26.4-py311_0.conda
- ""
"""
    environment = read(text(content))
    assert rows(environment) == [
        ("pytorch", "2.5.1", "conda", 2, 12),
        ("numpy", "1.26.4", "conda", 13, 52),
        ("transformers", "4.49.0", "registry", 8, None),
        ("peft", "0.14.0", "registry", 9, None),
    ]
    assert notes(environment) == [
        ("a list", "is where a package should be", True, 3),
        ("npm", "is a section that conda does not know", True, 4),
        ("a line", "is not a conda package", True, 5),
        ("a line", "is not one line of text, as pip needs it", True, 10),
        ("a list or mapping", "is where a line for pip should be", True, 11),
        ("pip", "is not a list", True, 12),
        ("a line", "is empty", False, 14),
    ]


def test_a_pip_section_without_any_requirement() -> None:
    environment = read(text("dependencies:\n- pip:\n  - '???'\n"))
    assert notes(environment) == [("pip", "no line is a requirement", True, 3)]


def test_a_key_that_stands_twice() -> None:
    environment = read(text("dependencies:\n- pytorch\ndependencies:\n- numpy\n"))
    assert rows(environment) == [("numpy", "*", "conda", 4, 3)]
    assert notes(environment) == [("dependencies", "appears twice: only the last one counts", True, 3)]


def test_no_dependencies() -> None:
    assert read(text("name: a\ndependencies:\n")).packages == ()


def test_utf_16_with_crlf() -> None:
    content = decode("dependencies:\r\n- pytorch=2.5\r\n".encode("utf-16"), "environment.yml")
    assert rows(read(text(content))) == [("pytorch", "==2.5.*", "conda", 2, 10)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`environment.yml`: holds 0 YAML documents instead of one"),
        ("apiVersion: v1\n", "`environment.yml`: has no `dependencies:` as an environment.yml has"),
        ("dependencies: {a: b}\n", "`environment.yml:1`: `dependencies` is not a list"),
        ("dependencies: pytorch\n", "`environment.yml:1`: `dependencies` is not a list"),
        ("- pytorch\n", "`environment.yml:1`: has no `key: value` lines at its top"),
        ("dependencies: [pytorch", "`environment.yml:1`: not valid YAML: did not find expected ',' or ']'"),
        ("dependencies:\n- {{ name }}\n", "`environment.yml:2`: a key that is not a word"),
    ],
)
def test_what_is_no_environment(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_a_list_that_aliases_make_endless() -> None:
    lines = "\n".join(["- pip: *p"] * 2000)
    content = f"x: &p [{', '.join(['a'] * 2000)}]\ndependencies:\n{lines}\n"
    with pytest.raises(Malformed, match="lists more than 15,000 packages"):
        read(text(content))
