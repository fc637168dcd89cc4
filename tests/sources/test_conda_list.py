"""What ``conda list`` and its relatives print; the fixtures are written by hand."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources import any_format
from gradcompat.sources.conda_list import read
from tests.sources.listed import facts, rows
from tests.sources.locked import FIXTURES, fixture, notes

MICROMAMBA = """\
List of packages in environment: "/opt/conda/envs/tiny"

  Name        Version  Build          Channel
───────────────────────────────────────────────────
  numpy       1.26.4   py311h64a7726  conda-forge
  torch       2.5.1    pypi_0         pypi
"""
PIXI = """\
Package       Version   Build              Size       Kind   Source
numpy         1.26.4    py311h64a7726_0    7.8 MiB    conda  https://conda.example/conda-forge/
torch         2.5.1                        864.2 MiB  pypi   torch-2.5.1-cp311-cp311-manylinux1_x86_64.whl
"""


def text(content: str) -> Document:
    return Document("-", content)


def test_the_table() -> None:
    environment = read(fixture("conda/list.txt"))
    assert rows(environment) == [
        ("_libgcc_mutex", "0.1", "conda", 4, 27),
        ("python", "3.11.11", "conda", 5, 27),
        ("pytorch", "2.5.1", "conda", 6, 27),
        ("tk", "8.6.14", "conda", 7, 27),
        ("transformers", "4.49.0", "registry", 8, 27),
    ]
    assert environment.skipped == ()
    assert facts(environment) == ("conda-list", True, "3.11.11", None)


def test_the_export() -> None:
    environment = read(fixture("conda/list-export.txt"))
    assert rows(environment) == [
        ("absl-py", "2.1.0", "registry", 4, 9),
        ("python", "3.10.4", "conda", 5, 8),
        ("pytorch", "2.5.1", "conda", 6, 9),
        ("typing-extensions", "4.12.2", "registry", 7, 19),
    ]
    assert facts(environment) == ("conda-list", True, "3.10.4", "win32")


@pytest.mark.parametrize("content", [MICROMAMBA, PIXI])
def test_tables_of_other_tools(content: str) -> None:
    environment = any_format.read(text(content))
    assert facts(environment) == ("conda-list", True, None, None)
    assert [(one.name, one.version, one.source) for one in environment.packages] == [
        ("numpy", "1.26.4", "conda"),
        ("torch", "2.5.1", "registry"),
    ]


def test_an_export_in_a_file_called_requirements() -> None:
    document = read_document(FIXTURES / "conda" / "list-export.txt", "requirements.txt")
    assert any_format.read(document).kind == "conda-list"
    headless = "\r\n".join(document.text.splitlines()[3:])
    assert any_format.read(Document("requirements.txt", headless, document.file)).kind == "conda-list"


def test_a_list_that_somebody_wrote_is_not_complete() -> None:
    environment = read(text("pytorch=2.5\nnumpy=1.26.4=py311_0\njpeg=9e\n"))
    assert rows(environment) == [
        ("pytorch", "==2.5.*", "conda", 1, 8),
        ("numpy", "1.26.4", "conda", 2, 7),
        ("jpeg", None, "conda", 3, 5),
    ]
    assert notes(environment) == [("a package", "its version cannot be compared", False, 3)]
    assert not environment.closed


def test_whole_value_with_a_line_that_is_none() -> None:
    environment = read(text("python=3.11.1=h_0\n-e .\npython=3.11.1=h_0\n"))
    python = Package(
        name="python", version="3.11.1", source="conda", build="h_0", location=Location(path="-", line=1, column=8)
    )
    again = Package(
        name="python", version="3.11.1", source="conda", build="h_0", location=Location(path="-", line=3, column=8)
    )
    assert environment == Environment(
        source="-",
        kind="conda-list",
        packages=(python, again),
        closed=False,
        skipped=environment.skipped,
        python="3.11.1",
    )
    assert notes(environment) == [("a line", "is not a conda package", True, 2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`-`: no line is from a list of conda packages"),
        ("# packages in environment at /x:\n", "`-`: no line is from a list of conda packages"),
        ("-e .\n", "`-`: no line is from a list of conda packages"),
        ("\n" * 200_000, "`-:200001`: is longer than 200,000 lines"),
    ],
)
def test_what_is_no_list(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message
