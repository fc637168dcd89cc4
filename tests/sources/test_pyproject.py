"""pyproject.toml: what a project asks for, in the tables of each tool, with the place of each pin."""

from __future__ import annotations

from typing import Any

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.requirements.versions import VersionSet
from gradcompat.sources.pyproject import read
from tests.sources.locked import fixture, notes


def text(content: str) -> Document:
    return Document("pyproject.toml", content)


def rows(environment: Environment) -> list[tuple[Any, ...]]:
    return [
        (one.name, one.version or one.specifier, one.source, one.extras, one.location.line, one.location.column)
        for one in environment.packages
    ]


def test_the_tables_of_the_standards_and_of_uv_pdm_hatch_and_flit() -> None:
    environment = read(fixture("pyproject/pyproject.toml"))
    assert rows(environment) == [
        ("torch", "2.5.1", "registry", (), 9, 15),
        ("transformers", ">=4.46,<4.50", "registry", (), 10, 25),
        ("accelerate", "*", "editable", (), 10, 68),
        ("peft", "~=0.14", "registry", (), 11, 12),
        ("trl", "0.12.0", "git", (), 12, 41),
        ("tokenizers", "0.20.0", "registry", (), 13, None),  # behind an escape
        ("deepspeed", "0.16.2", "git", (), 36, 61),  # the tag in `tool.uv.sources`
        ("xformers", "*", "registry", (), 15, 6),
        ("xformers", "0.0.29", "url", (), 40, 44),
        ("torch", "2.5.1", "registry", ("all",), 22, 35),
        ("flash-attn", "2.7.0", "registry", ("flash",), 23, 23),
        ("pytest", ">=8", "registry", ("Dev",), 26, 15),
        ("ruff", "0.8.0", "registry", ("lint",), 27, 16),
        ("mypy", "*", "registry", ("dev",), 31, 22),
        ("triton", "3.1.0", "registry", (), 32, 37),
        ("sub", None, "editable", ("test",), 45, 13),
        ("hypothesis", "6.100", "registry", ("test",), 45, 64),
        ("bitsandbytes", "0.45.0", "registry", ("gpu",), 52, 38),
        ("click", "8.1.7", "registry", (), 55, 21),
        ("sphinx", "*", "registry", ("doc",), 56, 24),
        ("numpy", "1.26.4", "registry", (), 33, 34),
        ("six", "1.16.0", "registry", (), 48, 8),
        ("idna", ">=3", "registry", (), 49, 9),
    ]
    assert notes(environment) == [
        ("numpy", "asks for >=1, which the project overrides", False, 16),
        (
            "a requirement",
            "is no requirement: expected semicolon (after name with no version specifier) or end",
            True,
            17,
        ),
        ("project.dependencies[10]", "is no requirement", True, 18),
        ("dependency-groups.lost", "is not a list of requirements", True, 28),
        ("dependency-groups.lint[1]", "includes a group that does not exist", True, 27),
        ("train-it", "is the project itself, which its own extras name 2 times", False, 22),
    ]
    assert not environment.closed
    markers = {one.name: one.marker for one in environment.packages if one.marker is not None}
    assert markers == {"transformers": "python_version >= '3.10'", "xformers": "sys_platform == 'win32'"}


def test_the_tables_of_poetry() -> None:
    environment = read(fixture("pyproject/poetry.toml"))
    assert rows(environment) == [
        ("torch", "2.5.1", "registry", (), 6, 10),
        ("transformers", ">=4.46.0,<5", "registry", (), 7, 17),
        ("accelerate", "1.2.1", "registry", (), 8, 17),
        ("peft", ">=0.13,<0.15", "registry", (), 9, 20),
        ("numpy", "1.26.4", "registry", (), 11, 17),
        ("numpy", ">=2.0,<3 || ==3.0.1", "registry", (), 12, 17),
        ("trl", "0.12.0", "git", (), 14, 49),
        ("flash-attn", ">=2.7,<2.8", "registry", ("flash",), 15, 26),
        ("sub", "*", "editable", (), 16, 1),
        ("wheel", "0.45.0", "path", (), 17, 31),
        ("remote", "2.0", "url", (), 18, 47),
        ("anything", "*", "registry", (), 19, 13),
        ("ruff", "0.8.0", "registry", ("dev",), 28, 9),
        ("pytest", "==8.*", "registry", ("dev",), 24, 11),
        ("main-only", "*", "git", ("dev",), 25, 1),
    ]
    assert notes(environment) == [
        ("nonsense", "its version constraint means nothing to Poetry", True, 20),
        ("typed", "its version constraint means nothing to Poetry", True, 21),
    ]
    assert [one.marker for one in environment.packages if one.marker is not None] == [
        "(sys_platform == 'linux') and (python_full_version >= '3.10' and python_full_version < '4')",
        "python_full_version < '3.12'",
        "(python_full_version >= '3.12') and (sys_platform == 'darwin')",
    ]
    assert [one.name for one in environment.packages if one.unreleased] == ["main-only"]
    for package in environment.packages:
        VersionSet.parse(package.specifier or "*")


def test_a_whole_environment() -> None:
    assert read(text('[project]\ndependencies = ["torch==2.5.1"]\n')) == Environment(
        source="pyproject.toml",
        kind="pyproject.toml",
        packages=(Package(name="torch", version="2.5.1", location=Location(path="pyproject.toml", line=2, column=25)),),
        closed=False,
    )


def test_poetry_beside_the_standard_table_only_says_where_from() -> None:
    environment = read(
        text(
            '[project]\ndynamic = ["dependencies"]\ndependencies = ["torch>=2.5", "trl"]\n'
            '[tool.poetry.dependencies]\nTorch = {source = "pytorch"}\npeft = {extras = ["all"]}\ntrl = "0.12.0"\n'
        )
    )
    assert rows(environment) == [
        ("torch", ">=2.5", "registry", (), 3, 23),
        ("peft", "*", "registry", (), 6, 1),
        ("trl", "0.12.0", "registry", (), 7, 8),
    ]
    assert environment.skipped == ()


def test_names_of_conda_lock() -> None:
    environment = read(
        text(
            '[tool.poetry.dependencies]\nPyTorch = "2.0.1"\nflash-attn = {version = "2.3.6", source = "pypi"}\n'
            '[tool.conda-lock.dependencies]\npip = ">=23.3"\ncudatoolkit = "11.3.*"\nodd = 1\n'
        )
    )
    assert rows(environment) == [
        ("pytorch", "2.0.1", "conda", (), 2, 12),
        ("flash-attn", "2.3.6", "registry", (), 3, 26),
        ("pip", ">=23.3", "conda", (), 5, 8),
        ("cudatoolkit", "==11.3.*", "conda", (), 6, 16),
    ]
    assert notes(environment) == [("odd", "is not a requirement that conda can have", True, 7)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            '[project]\ndynamic = ["version", "dependencies"]\n',
            [("dependencies", "are known only when the project is built, which gradcompat never does", True, 2)],
        ),
        (
            '[project]\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies = {file = ["a.txt"]}\n',
            [("dependencies", "are taken from `a.txt` when the project is built: check that", True, 2)],
        ),
        (
            '[project]\ndynamic = ["optional-dependencies"]\n[tool.setuptools.dynamic.optional-dependencies]\n'
            'cpu = {file = "cpu.txt"}\ncuda = {file = ["cuda.txt", 7]}\nodd = 7\n',
            [
                (
                    "optional-dependencies",
                    "are taken from `cpu.txt`, `cuda.txt` when the project is built: check those",
                    True,
                    2,
                )
            ],
        ),
        (
            '[tool.pixi.dependencies]\npytorch = "*"\n',
            [
                (
                    "tool.pixi",
                    "asks for packages in pixi's own tables, which are not read: check its pixi.lock",
                    True,
                    1,
                )
            ],
        ),
        ("[tool.ruff]\nline-length = 120\n", [("pyproject.toml", "names no requirements", False, None)]),
        (
            '[build-system]\nrequires = ["torch==2.5.1"]\n',
            [
                (
                    "pyproject.toml",
                    "names no requirements: they stand in setup.py or setup.cfg",
                    True,
                    None,
                )
            ],
        ),
        ("[tool.poetry]\ndependencies = 7\n", [("tool.poetry.dependencies", "is not a table", True, 2)]),
        (
            "[tool.poetry.group]\na.dependencies = 7\n",
            [("tool.poetry.group.a.dependencies", "is not a table", True, 2)],
        ),
        (
            "[tool.poetry.dependencies]\na = []\n",
            [("a", "its version constraint means nothing to Poetry", True, 2)],
        ),
        (
            "project = 7\ntool = 7\ndependency-groups = 7\n",
            [
                ("project", "is not a table", True, 1),
                ("dependency-groups", "is not a table", True, 3),
                ("tool", "is not a table", True, 2),
            ],
        ),
        (
            "[project]\noptional-dependencies = []\ndependencies = {}\n",
            [
                ("project.dependencies", "is not a list of requirements", True, 3),
                ("project.optional-dependencies", "is not a table", True, 2),
            ],
        ),
        (
            f'[project]\ndependencies = ["a"]\n[tool.uv.sources]\na = [{"{}, " * 51}]\n',
            [("a", "has 51 sources, which is too many to read", True, 4)],
        ),
    ],
)
def test_what_cannot_be_read_is_said(content: str, expected: list[tuple[Any, ...]]) -> None:
    environment = read(text(content))
    assert environment.packages == ()
    assert notes(environment) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`pyproject.toml`: has neither `[project]` nor `[tool]`"),
        ("a = 1", "`pyproject.toml`: has neither `[project]` nor `[tool]`"),
        ("[project]\nname =", "`pyproject.toml`: not valid TOML: Invalid value (at end of document)"),
        ("[project]\n[project]\n", "`pyproject.toml:2`: not valid TOML: Cannot declare a key twice"),
        ("[tool]\na = " + "[" * 100_000, "`pyproject.toml`: nested too deeply"),
    ],
)
def test_malformed(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_keys_of_any_depth() -> None:
    deep = ".".join(["file"] * 90)
    environment = read(
        text(f'[project]\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\ndependencies.{deep} = 1')
    )
    assert len(environment.skipped) == 1


def test_extras_that_pin_different_versions_are_alternatives() -> None:
    text = (
        '[project]\nname = "p"\n[project.optional-dependencies]\n'
        'old = ["torch==2.6.0", "torchvision==0.21.0"]\nnew = ["torch==2.8.0", "torchvision==0.23.0"]\n'
        'data = ["datasets==4.0.0"]\n'
    )
    environment = read(Document("pyproject.toml", text))
    assert [(one.name, one.version, one.forks) for one in environment.packages] == [
        ("torch", "2.6.0", ("old",)),
        ("torchvision", "0.21.0", ("old",)),
        ("torch", "2.8.0", ("new",)),
        ("torchvision", "0.23.0", ("new",)),
        ("datasets", "4.0.0", ()),
    ]
