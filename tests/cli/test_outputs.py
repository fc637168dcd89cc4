"""Several reports of one check, and the files that they go to."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.conftest import Run

EXAMPLE = Path(__file__).parents[2] / "examples" / "llava-finetune"


def check(run: Run, *arguments: str, **more: dict[str, str]) -> tuple[int, str, str]:
    outcome = run("check", str(EXAMPLE), *arguments, env=more.get("env", {"GITHUB_STEP_SUMMARY": ""}))
    return outcome.status, outcome.out, outcome.err


def test_several_at_once(run: Run, tmp_path: Path) -> None:
    status, out, err = check(run, "--output", "sarif=a.sarif", "--output", "markdown=-", "--output", "junit=b.xml")
    assert (status, err) == (1, "")
    assert out.startswith("**gradcompat**: 1 error")
    assert json.loads((tmp_path / "a.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert (tmp_path / "b.xml").read_text("utf-8").startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.sarif", "b.xml"]


def test_text_is_still_printed_beside_a_file(run: Run) -> None:
    assert "error GC-0004, silent: " in check(run, "--output", "json=a.json")[1]
    assert json.loads(check(run, "--output", "html=a.html", "--format", "json")[1])["exit_status"] == 1


def test_what_a_kill_has_left_is_cleared_away(run: Run, tmp_path: Path) -> None:
    left, being_written = tmp_path / ".gradcompat-1.staged", tmp_path / ".gradcompat-2.staged"
    undo = tmp_path / ".gradcompat-0123456789abcdef.tmp"  # of `fix`, which finishes or undoes by itself what it began
    for path in (left, being_written, undo):
        path.touch()
    os.utime(left, (0, 0))
    os.utime(undo, (0, 0))
    run("check", "-", "--output", "json=a.json", stdin="torch==2.5.1\n")
    assert set(tmp_path.iterdir()) == {tmp_path / "a.json", being_written, undo}


def test_a_file_is_replaced_whole(run: Run, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old" * 100_000)
    (tmp_path / "real.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    assert check(run, "--output", "json=link.json")[0] == 1
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text("utf-8"))["exit_status"] == 1
    assert stat.S_IMODE((tmp_path / "real.json").stat().st_mode) == 0o640


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs a device")
def test_a_device_is_written_to(run: Run) -> None:
    assert check(run, "--output", "json=/dev/null")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "sarif=no/such/a.sarif"], "`no/such/a.sarif`: cannot be written: there is no such folder"),
        (["--output", "sarif=."], "`.`: cannot be written: Is a directory"),
        (["--output", "sarif"], "`--output sarif` names no file"),
        (["--output", "sarif="], "`--output sarif=` names no file"),
        (["--output", "pdf=a.pdf"], "`--output pdf=a.pdf` is not known"),
        (["--format", "pdf"], "`--format pdf` is not known"),
        (["--output", "json=a", "--output", "html=./a"], "two reports would go to `a`"),
        (["--format", "json", "--output", "html=-"], "two reports would go to standard output"),
    ],
)
def test_what_cannot_be_is_one_line(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    status, out, err = check(run, *arguments)
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == f"error: {message}"
    assert list(tmp_path.iterdir()) == []


def test_one_that_cannot_be_written_leaves_the_others_as_they_were(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")
    (tmp_path / "folder").mkdir()
    status, out, err = check(run, "--output", "json=a.json", "--output", "sarif=folder")
    assert (status, out) == (2, "")
    assert err == "error: `folder`: cannot be written: Is a directory\n"
    assert (tmp_path / "a.json").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "folder"]


def test_annotations_bring_the_summary_of_the_step(run: Run, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n")
    status, out, _ = check(run, "--format", "github", env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert status == 1
    assert out.startswith("::error file=")
    assert summary.read_text("utf-8").startswith("# Before\n**gradcompat**: 1 error")


def test_a_summary_that_cannot_be_written_is_said(run: Run, tmp_path: Path) -> None:
    status, _, err = check(run, "--format", "github", env={"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert status == 2
    assert err == f"error: `{tmp_path}`: cannot be written: Is a directory\n"
