"""Which folders hold nothing but an installed environment: those are not searched for training runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.formats.project_walk import files, is_bare_environment


def test_an_environment_alone_and_with_a_file_beside_it(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    (site / "torch-2.5.1.dist-info").mkdir(parents=True)
    (site / "torch-2.5.1.dist-info" / "METADATA").write_text("Name: torch\n", "utf-8")
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n", "utf-8")
    (tmp_path / ".gitignore").write_text("*\n", "utf-8")
    assert is_bare_environment(tmp_path)
    assert is_bare_environment(site)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "train.py").write_text("", "utf-8")
    assert is_bare_environment(tmp_path)  # where an environment has its programs
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text("", "utf-8")
    assert not is_bare_environment(tmp_path)


def test_a_folder_that_cannot_be_listed_may_hold_more(tmp_path: Path) -> None:
    assert not is_bare_environment(tmp_path / "gone")


@pytest.mark.parametrize(
    ("folder", "hidden"),
    [
        ("wandb/run-20260711_102255-39lsfx0r/files", True),
        ("wandb/offline-run-20260711_102255-39lsfx0r/files", True),
        ("wandb/files", False),
        ("wandb/run-1/files", False),
        ("run-20260711_102255-39lsfx0r/files", False),
        ("wandb/run-20260711_102255-39lsfx0r/other", False),
    ],
)
def test_what_wandb_keeps_of_past_runs_is_no_part_of_the_project(tmp_path: Path, folder: str, hidden: bool) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "requirements.txt").write_text("torch==2.5.1\n", "utf-8")
    found = [name for _, names in files(tmp_path, lambda error: None) for name in names]
    assert found == ([] if hidden else ["requirements.txt"])
    assert [names for _, names in files(tmp_path / folder, lambda error: None)] == [["requirements.txt"]]


@pytest.mark.parametrize(
    ("file", "hidden"),
    [
        (".ipynb_checkpoints/train-checkpoint.py", True),
        (".ipynb_checkpoints/train.py", False),
        ("checkpoints/train-checkpoint.py", False),
    ],
)
def test_the_states_that_jupyter_saved_are_no_part_of_the_project(tmp_path: Path, file: str, hidden: bool) -> None:
    path = tmp_path / "src" / file
    path.parent.mkdir(parents=True)
    path.write_text("", "utf-8")
    found = [name for _, names in files(tmp_path, lambda error: None) for name in names]
    assert found == ([] if hidden else [path.name])
