"""setup.cfg of setuptools."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources.any_format import read as read_any
from gradcompat.sources.folder import find
from gradcompat.sources.setup_cfg import read
from tests.sources.locked import fixture, notes


def text(content: str) -> Document:
    return Document("setup.cfg", content)


def test_requirements_and_extras() -> None:
    environment = read(fixture("setup_cfg/setup.cfg"))
    assert [
        (one.name, one.version or one.specifier, one.marker, one.extras, one.location.line, one.location.column)
        for one in environment.packages
    ] == [
        ("torch", "2.5.1", None, (), 10, 12),
        ("transformers", ">=4.46,<4.50", 'python_version >= "3.10"', (), 12, 18),
        ("accelerate", "*", None, (), 14, 5),
        ("pytest", "8.3.0", None, ("tests",), 16, 25),
        ("hypothesis", "6.100.0", None, ("tests",), 16, 44),
        ("flash-attn", "2.7.0", 'sys_platform == "linux"', ("flash",), 19, 23),
        ("ruff", "0.8.0", None, ("dev",), 21, 11),
    ]
    assert notes(environment) == [
        (
            "a requirement",
            "is no requirement: expected package name at the start of dependency specifier",
            True,
            15,
        ),
        (
            "extras_require.docs",
            "are taken from `docs/requirements.txt` when the project is built: check that",
            True,
            22,
        ),
    ]


def test_a_whole_environment() -> None:
    assert read(text("[options]\r\ninstall_requires =\r\n\ttorch==2.5.1\r\n")) == Environment(
        source="setup.cfg",
        kind="setup.cfg",
        packages=(Package(name="torch", version="2.5.1", location=Location(path="setup.cfg", line=3, column=9)),),
        closed=False,
    )


def test_no_requirements() -> None:
    assert notes(read(text("[metadata]\nname = a\n"))) == [
        ("setup.cfg", "names no requirements: they stand in setup.py or pyproject.toml", False, None)
    ]


ISORT = """\
[isort]
known_third_party =
    torch
    transformers
    accelerate
    numpy

[tool:pytest]
addopts = -q

[flake8]
ignore = E203, E501
"""


def test_options_of_other_tools_are_no_requirements() -> None:
    environment = read_any(Document("setup.cfg", ISORT, Path("setup.cfg")))
    assert (environment.kind, environment.packages) == ("setup.cfg", ())
    assert notes(environment) == [
        ("setup.cfg", "names no requirements: it has options of other tools, and no `[options]`", False, None)
    ]


def test_a_list_of_another_tool_beside_requirements() -> None:
    environment = read_any(Document("setup.cfg", f"{ISORT}\n[options]\ninstall_requires = torch==2.5.1\n"))
    assert [(one.name, one.version) for one in environment.packages] == [("torch", "2.5.1")]


def test_sections_that_cannot_be_parsed_are_no_list_of_packages() -> None:
    with pytest.raises(Malformed, match="is neither `key = value`"):
        read_any(Document("setup.cfg", "[isort]\ntorch\ntransformers\naccelerate\nnumpy\n", Path("setup.cfg")))


def test_a_folder_passes_over_a_setup_cfg_of_other_tools(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").write_text(ISORT, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n", encoding="utf-8")
    found = find(tmp_path, ".", root_of_folder(tmp_path, "."))
    assert [shown for _, shown in found.files] == ["requirements.txt"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`setup.cfg`: has no `[section]`"),
        ("\ntorch==2.5.1\n", "`setup.cfg:2`: begins without a `[section]`"),
        ("[options]\nname = a\nword\n", "`setup.cfg:3`: is neither `key = value` nor the continuation of one"),
    ],
)
def test_malformed(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_a_line_of_many_blanks_costs_no_more_than_another() -> None:
    blanks = " " * 1_000_000
    environment = read(text(f"[options]\ninstall_requires =\n  torch{blanks}==2.5.1\nkey{blanks} = {blanks}\n"))
    assert [(one.name, one.location.line) for one in environment.packages] == [("torch", 3)]
