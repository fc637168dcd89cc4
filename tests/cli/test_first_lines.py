"""What a check says to do is the plan's: over many files, below the level, and of what hangs on something unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import Run

PAIR = "torch==2.4.1\ntorchvision==0.20.0\n"  # does not go together: the record itself only says what would
BELOW = "torch==2.4.1\ntorchaudio==2.5.0\n"  # a warning


def _affected(run: Run, *arguments: str) -> list[dict[str, Any]]:
    findings = json.loads(run("check", *arguments, "--format", "json").out)["findings"]
    return [one for one in findings if one["status"] == "affected"]


def test_each_of_many_files_gets_the_line_of_its_plan(run: Run, tmp_path: Path) -> None:
    for number in range(20):
        folder = tmp_path / f"project-{number:02}"
        folder.mkdir()
        (folder / "requirements.txt").write_text(PAIR)
    (alone,) = _affected(run, "project-00")
    assert (alone["advice"]["kind"], alone["advice"]["target"]) == ("upgrade", "2.5.0")
    many = _affected(run, ".")
    assert len(many) == 20
    assert all(one["advice"] == alone["advice"] for one in many)


def test_what_is_below_the_level_gets_the_line_of_a_plan_for_all_levels(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(PAIR + BELOW.partition("\n")[2])
    error, warning = _affected(run, "requirements.txt")
    assert (error["level"], warning["level"]) == ("error", "warning")
    assert error["advice"]["package"] == "torch"
    assert warning["advice"]["kind"] == "upgrade"
    plan = json.loads(run("plan", "requirements.txt", "--offline", "--fail-on", "note", "--format", "json").out)
    assert warning["advice"]["target"] in {one["version_to"] for one in plan["changes"]}


def test_what_hangs_on_something_unseen_gets_a_line_where_it_counts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.49.0\n")
    stated = ("training.framework=transformers.Trainer", "training.gradient_accumulation_steps=8")
    only = ("--only", "GC-0004", *(word for one in stated for word in ("--set", one)), "--assume", "none")
    assert "fix" not in run("check", "requirements.txt", *only).out
    strict = run("check", "requirements.txt", *only, "--strict")
    assert "    fix set training.gradient_accumulation_steps to 1\n" in strict.out
