"""What `check` says of a finding is the first line of its plan, wherever one package is all that has to move."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.cli.auditing import Asked, File, Options, audit
from gradcompat.cli.planning import Wishes, work_on
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import load
from gradcompat.renderers.plan_text import summary
from gradcompat.renderers.text import advice_text
from gradcompat.vocabulary import parse_setting

HOST = ("host.python=3.11", "host.platform=linux")
VISION = (
    "training.gradient_accumulation_steps=4",
    "model.architecture=LlavaForConditionalGeneration",
    "model.uses_num_items_in_batch=true",
    "distributed.strategy=ddp",
)
PREFERENCES = ("training.gradient_accumulation_steps=4", "training.method=dpo")


@pytest.mark.parametrize(("facts", "least"), [(VISION, 5), (PREFERENCES, 3)])
def test_check_says_what_a_plan_does(corpus: Path, facts: tuple[str, ...], least: int) -> None:
    base, snapshot = load(), Snapshot()
    options = Options(settings=tuple(map(parse_setting, (*facts, *HOST))))
    compared = 0
    for kind in ("uv.lock", "poetry.lock", "requirements-plain"):
        for path in sorted((corpus / kind).iterdir()):
            source = File(path, path.name)
            found = [
                one
                for one in audit(source, (), base, options).findings
                if one.finding.status == "affected" and one.finding.issue.level == "error"
            ]
            if len(found) != 1:
                continue
            (work,) = work_on(Asked([source], None, []), base, snapshot, options, Wishes())
            plan = work.planned.plan
            assert plan is not None
            if len(plan.changes) == 1 and not plan.settings and not plan.code:
                if " and " in (plan.changes[0].version_from or ""):
                    continue  # alternatives of a lockfile: a plan makes them one, a finding is about one of them
                compared += 1
                advice = found[0].advice
                assert advice is not None
                said = advice_text(advice)
                # What a release requires is not looked up by a check: then the plan has it as a way that needs more.
                dearer = any(summary(one).startswith(f"{said}, ") for one in plan.alternatives)
                assert said == summary(plan) or dearer, path.name
    assert compared >= least
