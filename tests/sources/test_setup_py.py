"""setup.py: what is literal in it, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment
from gradcompat.root import root_of_folder
from gradcompat.sources.reading import read as read_any
from gradcompat.sources.setup_py import read
from tests.sources.locked import fixture, notes

COMPUTED = "is computed when the project is built, which gradcompat never does"


def of(text: str) -> Environment:
    return read(Document("setup.py", text))


def ranges(environment: Environment) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(one.name, one.version or one.specifier, one.extras) for one in environment.packages]


def test_lists_and_names_that_are_bound_once() -> None:
    environment = read_any(fixture("setup_py/setup.py"))
    assert environment.kind == "setup.py"
    assert [(one.name, one.version or one.specifier, one.location.line) for one in environment.packages] == [
        ("torch", ">=2.1", 9),
        ("transformers", "4.49.0", 10),
        ("accelerate", "1.4.0", 20),
    ]
    assert notes(environment) == [("tests_require", COMPUTED, True, 21), ("extras_require", COMPUTED, True, 22)]


def test_extras_that_are_literal() -> None:
    text = (
        "import setuptools\nsetuptools.setup(extras_require={'a': ['torch==2.5.1'], 'b:os_name == \"nt\"': 'peft'})\n"
    )
    assert ranges(of(text)) == [("torch", "2.5.1", ("a",)), ("peft", "*", ("b",))]


@pytest.mark.parametrize(
    "lines",
    [
        'open("requirements.txt").read().splitlines()',
        'open(os.path.join(HERE, "requirements.txt")).readlines()',
        'Path("requirements.txt").read_text().split("\\n")',
        '[line.strip() for line in open("requirements.txt") if line]',
        'list(open("requirements.txt"))',
        "LINES",
    ],
)
def test_a_file_whose_lines_are_the_requirements(tmp_path: Path, lines: str) -> None:
    opened = "with open('requirements.txt') as file:\n    LINES = file.read().splitlines()\n"
    text = f"import os\n{opened}setup(install_requires={lines})\n"
    (tmp_path / "setup.py").write_text(text, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n", encoding="utf-8")
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, ".")))
    assert [(one.name, one.version, one.location.path) for one in environment.packages] == [
        ("torch", "2.5.1", "requirements.txt")
    ]


def test_a_file_that_is_not_there_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("setup(install_requires=open('a.txt').readlines())\n", encoding="utf-8")
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, ".")))
    reason = "its requirements are those of the project and were not read: there is no such file or folder"
    assert notes(environment) == [("a.txt", reason, True, 1)]


@pytest.mark.parametrize("value", ["parse('a')", "[*parse()]", "NAME", "['torch' + '>=2']", "A", "{k: v for k in x}"])
def test_what_is_computed_is_a_gap(value: str) -> None:
    environment = of(f"A = A2\nA2 = A\nNAME = ['x']\nNAME = ['y']\nsetup(install_requires={value})\n")
    assert environment.packages == ()
    assert [one.gap for one in environment.skipped] == [True]


def test_nothing_is_asked_for_here() -> None:
    reason = "names no requirements: they stand in pyproject.toml or setup.cfg"
    assert notes(of("from setuptools import setup\nsetup()\n")) == [("setup.py", reason, False, None)]
    assert [one.gap for one in of("setup(**options)\n").skipped] == [True]


@pytest.mark.parametrize("text", ["", "x = 1\n", "setup(\n", "print 'a'\n", "(" * 10_000, "setup\0()"])
def test_what_is_no_setup_py(text: str) -> None:
    with pytest.raises(Malformed):
        of(text)
