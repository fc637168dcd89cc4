"""What `check` says of a finding is the first line of its plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.auditor import Task, audit
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.plans import PlanOptions, plan_all
from gradcompat.audit.targets import AuditRequest, File
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import load
from gradcompat.messages import change_text
from gradcompat.renderers.affected_text import advice_text
from gradcompat.renderers.plan_text import summary
from gradcompat.vocabulary import parse_setting

HOST = ("host.python=3.11", "host.platform=linux")
VISION = (
    "training.framework=transformers.Trainer",
    "training.gradient_accumulation_steps=4",
    "model.architecture=LlavaForConditionalGeneration",
    "model.uses_num_items_in_batch=true",
    "distributed.strategy=ddp",
)
PREFERENCES = ("training.framework=trl", "training.gradient_accumulation_steps=4", "training.method=dpo")


@pytest.mark.e2e  # checks and plans every lockfile of the corpus
@pytest.mark.parametrize(("facts", "least"), [(VISION, 7), (PREFERENCES, 2)])
def test_check_says_what_a_plan_does(corpus: Path, facts: tuple[str, ...], least: int) -> None:
    base, snapshot = load(), Snapshot()
    options = AuditOptions(settings=tuple(map(parse_setting, (*facts, *HOST))))
    compared = 0
    for kind in ("uv.lock", "poetry.lock", "requirements-plain"):
        for path in sorted((corpus / kind).iterdir()):
            source = File(path, path.name)
            found = [
                one
                for one in audit(Task(source), base, options).findings
                if one.finding.status == "affected" and one.finding.issue.level == "error"
            ]
            if not found:
                continue
            (work,) = plan_all(AuditRequest([source], None, []), base, snapshot, options, PlanOptions())
            plan = work.planned.plan
            assert plan is not None
            for one in found:
                identifier = one.finding.issue.id
                curing = [change for change in plan.changes if identifier in change.cures]
                if not curing:
                    continue
                compared += 1
                assert one.advice is not None
                said = advice_text(one.advice)
                assert said.startswith(change_text(curing[0])), path.name
                if len(plan.fixed) == 1 and not plan.settings and not plan.code:
                    assert said == summary(plan), path.name
    assert compared >= least
