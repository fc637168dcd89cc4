"""Lines that speak of one package: what all of them allow is what is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment, Package
from gradcompat.requirements.versions import VersionSet
from gradcompat.sources import conda_environment, inline_script, pyproject, requirements, setup_cfg

Row = tuple[str, str | None, str | None, int | None]


def rows(environment: Environment) -> list[Row]:
    return [(one.name, one.version, one.specifier, one.location.line) for one in environment.packages]


def listed(text: str) -> list[Row]:
    return rows(requirements.read(Document("requirements.txt", text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lightning==2.1.2\nlightning[app]\n", [("lightning", "2.1.2", None, 1)]),
        ("lightning[app]\nlightning==2.1.2\n", [("lightning", "2.1.2", None, 2)]),
        ("lightning[app]>=2.0\nlightning==2.1.2\n", [("lightning", "2.1.2", None, 2)]),
        ("transformers>=4.46\ntransformers<4.49\n", [("transformers", None, ">=4.46,<4.49", 1)]),
        (
            "transformers>=4.45\nnumpy\ntransformers!=4.46.*,!=4.47.*,!=4.48.0\n",
            [("transformers", None, ">=4.45,!=4.46.*,!=4.47.*,!=4.48.0", 1), ("numpy", None, "*", 2)],
        ),
        ("torch\ntorch>=2.1\n", [("torch", None, ">=2.1", 2)]),
        ("torch\ntorch\n", [("torch", None, "*", 1)]),
    ],
)
def test_lines_of_one_name_hold_together(text: str, expected: list[Row]) -> None:
    assert listed(text) == expected


def test_what_holds_everywhere_narrows_what_holds_somewhere() -> None:
    text = "torch<2.5\ntorch>=2.1 ; sys_platform == 'linux'\ntorch>=2.3 ; sys_platform == 'win32'\n"
    assert [specifier for _, _, specifier, _ in listed(text)] == ["<2.5", ">=2.1,<2.5", ">=2.3,<2.5"]


def test_a_pin_that_holds_everywhere_settles_what_holds_somewhere() -> None:
    assert listed("torch==2.4.1\ntorch>=2.1 ; sys_platform == 'linux'\n") == [("torch", "2.4.1", None, 1)]


@pytest.mark.parametrize("text", ["torch==2.4.1\ntorch==2.5.1\n", "torch==2.4.1\ntorch>=2.5\n"])
def test_lines_that_exclude_one_another_all_stay_and_are_named(text: str) -> None:
    environment = requirements.read(Document("requirements.txt", text))
    assert [one.location.line for one in environment.packages] == [1, 2]
    reason = "is asked for in versions that exclude one another (line 1 and line 2): no installer finds one"
    assert [(one.what, one.reason, one.gap) for one in environment.skipped] == [("torch", reason, False)]


def test_across_files(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r base.txt\n-c limits.txt\ntransformers<4.49\n", encoding="utf-8")
    (tmp_path / "base.txt").write_text("transformers>=4.46\n", encoding="utf-8")
    (tmp_path / "limits.txt").write_text("transformers!=4.47.*\n", encoding="utf-8")
    document = read_document(tmp_path / "requirements.txt", "requirements.txt", root_of_folder(tmp_path, "."))
    (only,) = requirements.read(document).packages
    assert only.specifier is not None
    assert VersionSet.parse(only.specifier) == VersionSet.parse(">=4.46,<4.49,!=4.47.*")


def test_requirements_of_a_project_and_its_extras() -> None:
    text = """\
[project]
name = "a"
dependencies = ["torch>=2.1", "transformers>=4.46", "transformers<4.49"]
[project.optional-dependencies]
old = ["torch<2.5"]
gpu = ["torch==2.4.1"]
"""
    environment = pyproject.read(Document("pyproject.toml", text))
    assert [(one.name, one.version or one.specifier, one.extras) for one in environment.packages] == [
        ("torch", ">=2.1", ()),
        ("transformers", ">=4.46,<4.49", ()),
        ("torch", "<2.5,>=2.1", ("old",)),
        ("torch", "2.4.1", ("gpu",)),
    ]


def test_every_other_list_of_ranges() -> None:
    script = "# /// script\n# dependencies = [\n#   'torch>=2.1',\n#   'torch<2.5',\n# ]\n# ///\n"
    assert rows(inline_script.read(Document("a.py", script))) == [("torch", None, ">=2.1,<2.5", 3)]
    config = "[options]\ninstall_requires =\n  torch>=2.1\n  torch<2.5\n"
    assert rows(setup_cfg.read(Document("setup.cfg", config))) == [("torch", None, ">=2.1,<2.5", 3)]
    conda = "dependencies:\n  - pytorch>=2.1\n  - pytorch<2.5\n  - pip:\n    - peft>=0.10\n    - peft<0.12\n"
    assert rows(conda_environment.read(Document("environment.yml", conda))) == [
        ("pytorch", None, ">=2.1,<2.5", 2),
        ("peft", None, ">=0.10,<0.12", 5),
    ]


def test_alternatives_of_conda_are_each_narrowed() -> None:
    conda = "dependencies:\n  - numpy <1.20|>=1.24\n  - numpy !=1.25.0\n"
    (only,) = conda_environment.read(Document("environment.yml", conda)).packages
    assert only.specifier is not None
    assert VersionSet.parse(only.specifier) == VersionSet.parse("<1.20 || >=1.24,!=1.25.0")


def test_links_are_left_as_they_are() -> None:
    assert listed("torch @ https://index.example/torch-2.5.1-py3-none-any.whl\ntorch>=2.1\n")[0][1] == "2.5.1"


def test_many_lines_of_one_name_cost_no_more_than_others() -> None:
    found = requirements.read(Document("requirements.txt", "".join(f"torch!=1.{minor}\n" for minor in range(5_000))))
    assert all(isinstance(one, Package) for one in found.packages)
