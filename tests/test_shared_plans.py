from __future__ import annotations

from dataclasses import replace

import pytest

from gradcompat.audit import plans
from gradcompat.index.snapshot import Snapshot, shipped_snapshot
from gradcompat.knowledge.load import load
from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment
from gradcompat.model.plan import Plan
from gradcompat.model.release import Catalogue, Target
from gradcompat.planner.plan import plan
from gradcompat.planner.request import Request
from tests import shared_plans
from tests.building import environment, package

TORCH_NUMPY = environment(package("torch", "2.2.0"), package("numpy", "2.0.0"), package("transformers", "4.49.0"))


REQUEST = Request(target=Target(python="3.11"), level="error")


def planned(one: Environment, catalogue: Catalogue) -> Plan:
    base = load()
    found = match(one, base.in_force(), base.names)
    made: Plan = vars(plans)["plan"](one, found, base.in_force(), base.names, catalogue, REQUEST)
    return made


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Environment]:
    """The environments that the planner itself was asked about."""
    asked: list[Environment] = []

    def counted(one: Environment, *arguments: object, **options: object) -> Plan:
        asked.append(one)
        return plan(one, *arguments, **options)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(shared_plans, "plan", counted)
    monkeypatch.setattr(plans, "plan", counted)
    monkeypatch.setattr(shared_plans, "_made", {})
    return asked


def test_equal_arguments_have_one_plan(calls: list[Environment]) -> None:
    with shared_plans.plans_shared():
        made = planned(TORCH_NUMPY, shipped_snapshot())
        equal = replace(TORCH_NUMPY, packages=tuple(map(replace, TORCH_NUMPY.packages)))
        assert planned(equal, shipped_snapshot()) is made
        other = replace(TORCH_NUMPY, packages=TORCH_NUMPY.packages[:2])
        assert planned(other, shipped_snapshot()) is not made
    assert len(calls) == 2
    assert planned(TORCH_NUMPY, shipped_snapshot()) == made
    assert len(calls) == 3


def test_only_what_the_shipped_snapshot_leads_to_is_shared(calls: list[Environment]) -> None:
    catalogue = Snapshot()
    with shared_plans.plans_shared():
        assert planned(TORCH_NUMPY, catalogue) == planned(TORCH_NUMPY, catalogue)
    assert len(calls) == 2
