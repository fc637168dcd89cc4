"""The plans of one run share one budget of steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gradcompat
from gradcompat.audit import auditor, plans
from gradcompat.audit.auditor import Task, audit
from gradcompat.audit.options import PLAN_STEPS, AuditOptions
from gradcompat.audit.plans import PlanOptions, exit_status, plan_all, within
from gradcompat.audit.targets import AuditRequest, File, megabytes
from gradcompat.budget import Budget
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import load
from gradcompat.model.context import Context
from gradcompat.model.plan import Plan, Verified
from gradcompat.model.report import Audit, Report
from tests.renderers.reports import rendered

PAIR = "torch==2.4.1\ntorchvision==0.20.0\n"  # does not go together


def shared_out(needs: list[int], most: int) -> tuple[list[tuple[int, int]], list[bool]]:
    """What each plan was given, and which of the plans had enough; a task needs so many steps."""
    given: list[tuple[int, int]] = []

    def make(task: Any, budget: Budget) -> Plan:
        given.append((task, budget.most))
        enough = budget.take(task)
        verified = Verified(matched_again=True, requirements=True, wheels=True, smallest=enough, against="", target="")
        return Plan(source="", complete=enough, verified=verified)

    made = within(Budget(most), needs, make)  # type: ignore[arg-type]  # a task is a number here
    return given, [plan is not None and plan.complete for plan in made]


def test_each_plan_may_take_its_share_of_what_is_left() -> None:
    assert shared_out([10, 10, 70], 100) == ([(10, 33), (10, 45), (70, 80)], [True, True, True])


def test_what_did_not_suffice_is_tried_again_with_what_others_left() -> None:
    assert shared_out([60, 5, 5, 5], 100) == ([(60, 25), (5, 25), (5, 35), (5, 65), (60, 60)], [True] * 4)


def test_it_is_not_tried_again_with_hardly_more() -> None:
    given, enough = shared_out([60, 20, 20], 100)
    assert given == [(60, 33), (20, 33), (20, 47)]
    assert enough == [False, True, True]


def test_one_plan_alone_has_everything_at_once() -> None:
    assert shared_out([200], 100) == ([(200, 100)], [False])


def test_the_budget_grows_with_what_is_planned(tmp_path: Path) -> None:
    large, small = tmp_path / "uv.lock", tmp_path / "requirements.txt"
    large.write_bytes(b"#" * 3_500_000)
    small.write_text(PAIR)
    assert megabytes([File(small, "requirements.txt")]) == 1
    assert megabytes([File(small, "requirements.txt"), File(large, "uv.lock")]) == 3
    assert megabytes([File(tmp_path / "gone.txt", "gone.txt")]) == 1


def test_a_run_without_steps_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "DEFAULT_STEPS", 100)
    path = tmp_path / "requirements.txt"
    path.write_text(PAIR)
    asked = AuditRequest([File(path, "requirements.txt")], None, [])
    done = plan_all(asked, load(), Snapshot(), AuditOptions(), PlanOptions())
    assert exit_status(done, left=True) == 3
    (work,) = done
    assert work.planned.plan is not None
    assert work.planned.plan.verified.unverified[0].startswith(
        "no plan that clears everything within the budget of 100 steps: plan one environment alone"
    )


def test_a_check_without_steps_for_a_plan_names_the_nearest_single_change(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("torch==2.4.1\ntransformers==4.49.0\n")
    facts = (("training.gradient_accumulation_steps", 8), ("model.architecture", "LlavaForConditionalGeneration"))
    only = frozenset({"GC-0004"})
    planned, alone = (
        audit(Task(File(path, "requirements.txt")), load(), AuditOptions(settings=facts, only=only, plan_steps=steps))
        for steps in (400_000, 100)
    )
    assert [one.advice.changes != () for one in planned.findings if one.advice is not None] == [True]
    (found,) = (one.advice for one in alone.findings if one.advice is not None)
    assert (found.package, found.target, found.changes) == ("transformers", "4.52.1", ())
    assert planned.skipped == ()
    (note,) = alone.skipped
    assert (note.what, note.gap) == ("fixes", False)
    assert "takes longer than a check" in note.reason
    assert note.reason.endswith("run `gradcompat plan`")
    report = Report(audits=(alone,), records=1, digest="", date="2026-11-23", exit_status=1)
    assert "takes longer than a check" in " ".join(rendered(report, "text").split())
    (environment,) = json.loads(rendered(report, "json"))["environments"]
    assert note.reason in [one["reason"] for one in environment["skipped"]]


def test_the_steps_of_a_check_are_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that train something share them among themselves: their plans move more, and are what people look for."""
    given: list[int] = []
    unread = Audit(source="1.txt", kind=None, packages=0, recognised=0, findings=(), skipped=())

    def audited(task: auditor.Task, _base: object, _options: object) -> Audit:
        given.append(task.plan_steps)
        return unread

    monkeypatch.setattr(auditor, "audit", audited)
    files = [File(tmp_path / f"{number}.txt", f"{number}.txt") for number in range(10)]
    runs = (Context(source="train.yaml", kind="accelerate config", run=True, settings=()),)
    tasks = [auditor.Task(file, runs if number < 2 else ()) for number, file in enumerate(files)]
    auditor.audit_each(tasks, load(), AuditOptions())
    assert given == [PLAN_STEPS // 2] * 2 + [PLAN_STEPS // 10] * 8


TRAIN = """\
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), arguments, train_dataset=load()).train()
"""


def test_a_project_of_several_runs_gets_a_plan_and_not_only_a_setting(tmp_path: Path) -> None:
    """Its runs differ in what no record asks for; an evaluation has requirements of its own."""
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "requirements.txt").write_text("tqdm==4.66.1\n")
    (tmp_path / "requirements.txt").write_text("transformers==4.31.0\naccelerate==0.21.0\n")
    (tmp_path / "train.py").write_text(TRAIN)
    for number in range(1, 9):
        options = f"--output_dir out{number} --learning_rate {number}e-5 --gradient_accumulation_steps {4 * number}"
        (tmp_path / f"run{number}.sh").write_text(f"python train.py {options}\n")
    report = gradcompat.check(tmp_path, only=["GC-0005"])
    advice = [one.advice for one in report.findings if one.finding.status == "affected"]
    assert [one.package for one in advice if one is not None] == ["transformers"]
    assert not any("takes longer than a check" in one.reason for audit in report.audits for one in audit.skipped)
