"""From the report of a guarded run to a record: ``gradcompat knowledge new --from``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradcompat.guard import run_report
from gradcompat.guard.judgement import Judgement
from gradcompat.guard.matched_records import Record
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.records import read
from tests.conftest import Run
from tests.guard.steps import gradients, step
from tests.knowledge.authored import RECORD, written

REST = (
    "--details", "Half of the micro-batches is lost.", "--reference", "https://example.org/1",
    "--remedy", "code zero the gradients after the step",
)  # fmt: skip
PACKAGES = {"torch": "2.13.0+cpu", "transformers": "4.49.0", "numpy": "2.2.6"}
SETTINGS = {
    "training.framework": "transformers.Trainer",
    "training.gradient_accumulation_steps": 4,
    "distributed.processes": 1,
    "model.architecture": "LlamaForCausalLM",
    "model.family": "llama",
    "precision.mode": "no",
}


def reported(folder: Path, *records: Record, **other: Any) -> str:
    """The report of a run in which one of two micro-batches is lost, and the weight is off."""
    judgement, measured = Judgement(), step(1.0, 1.0, accumulation=2, gradients=gradients(0.5, cosine=0.9))
    judgement.step(measured, ())
    content = run_report.report(
        judgement, [measured], records, facts=SETTINGS, packages=PACKAGES, change="", stopped=True
    )
    path = folder / "gradcompat-guard.json"
    path.write_text(json.dumps({**content, **other}), "utf-8")
    return str(path)


def test_a_finding_that_no_record_explains_becomes_a_record(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    known = Record("GC-0004", "Known.", ("gradient-scale", "loss-scale"), "error")
    outcome = run(
        "knowledge", "new", str(path), "--from", reported(tmp_path, known), "--category", "lost-gradient", *REST
    )
    assert outcome.status == 0, outcome.err
    authored = read(path)
    assert [str(problem) for problem in lint(authored)] == []
    new = authored.records[-1]
    assert len(new.summary) <= 100
    assert (new.level, new.silent, new.range_basis, new.categories) == ("warning", True, "reported", ["lost-gradient"])
    (affected,) = new.affected
    assert affected.packages == {"transformers": "==4.49.0"}
    assert "training.gradient_accumulation_steps" in str(affected)
    assert "LlamaForCausalLM" in str(affected)
    assert "distributed.processes" not in str(affected)
    (evidence,) = new.evidence
    assert evidence.startswith("Measured by the guard in a run (torch 2.13.0+cpu, transformers 4.49.0): ")
    assert "numpy" not in evidence


def test_options_come_before_the_report(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    outcome = run("knowledge", "new", str(path), "--from", reported(tmp_path), "--summary", "Mine", *REST)
    assert outcome.status == 0, outcome.err
    assert read(path).records[-1].summary == "Mine"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is no report of a guarded run"),
        ('{"findings": 1}', "is no report of a guarded run"),
        ('{"findings": [], "settings": {}, "packages": {}}', "has no finding: the run was verified"),
        (
            '{"findings": [{"level": "odd", "text": "x", "measured": {}}], "settings": {}, "packages": {}}',
            "is no report of a guarded run",
        ),
        (
            '{"findings": [{"level": "error", "text": "x", "measured": {}}], "settings": {}, "packages": {}}',
            "names no package that trains",
        ),
    ],
)
def test_what_is_no_report_is_one_line(run: Run, tmp_path: Path, content: str | None, said: str) -> None:
    path, report = written(tmp_path, RECORD), tmp_path / "report.json"
    if content is not None:
        report.write_text(content, "utf-8")
    outcome = run("knowledge", "new", str(path), "--from", str(report), *REST)
    assert outcome.status == 2
    assert said in outcome.err.splitlines()[0]
