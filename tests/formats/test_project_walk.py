"""Which folders hold nothing but an installed environment: those are not searched for training runs."""

from __future__ import annotations

from pathlib import Path

from gradcompat.formats.project_walk import is_bare_environment


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
