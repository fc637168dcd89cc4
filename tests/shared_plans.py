"""Plans that several tests ask for, made once in a process: with the snapshot that ships, a plan is a pure function.

Most calls of ``check`` in tests are of the same few projects, and three quarters of their time is the plan behind the
line ``fix``. Tests of the planner call it directly and share nothing; so do tests that start a process for each call.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import pytest

from gradcompat.audit import plans
from gradcompat.budget import Budget
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.matching.entries import Names
from gradcompat.matching.view import View
from gradcompat.model.environment import Environment
from gradcompat.model.finding import Finding
from gradcompat.model.issue import Issue
from gradcompat.model.plan import Plan
from gradcompat.model.release import Catalogue, Requirers
from gradcompat.planner.plan import plan
from gradcompat.planner.request import Request

_made: dict[bytes, tuple[Plan, int | None]] = {}  # with the steps that it left
_records: list[object] = []  # kept, so that no other object gets the identity of one that a key speaks of


def _shared_plan(
    environment: Environment,
    findings: Iterable[Finding],
    issues: Sequence[Issue],
    names: Names,
    catalogue: Catalogue,
    request: Request,
    *,
    runs: Sequence[Environment] = (),
    seen: Sequence[View] = (),
    changes_only: bool = False,
    budget: Budget | None = None,
    requirers: Requirers | None = None,
) -> Plan:
    """:func:`gradcompat.planner.plan.plan`, or what it answered to the same arguments before."""
    findings = tuple(findings)
    made = partial(plan, environment, findings, issues, names, catalogue, request, runs=runs, seen=seen)
    made = partial(made, budget=budget, changes_only=changes_only, requirers=requirers)
    if catalogue is not shipped_snapshot():
        return made()
    said = [(finding.issue.id, finding.status) for finding in findings]
    identities = [id(names), *map(id, issues)]
    left = None if budget is None else budget.left
    key = _bytes_of((environment, said, identities, request, tuple(runs), changes_only, requirers is None, left))
    if key not in _made:
        _records.extend((names, *issues))
        _made[key] = made(), None if budget is None else budget.left
    answer, remaining = _made[key]
    if budget is not None and remaining is not None:
        budget.left = remaining
    return answer


def _bytes_of(value: object) -> bytes:
    """Equal for equal values, whether or not parts of them are one object."""
    out = io.BytesIO()
    pickler = pickle.Pickler(out)
    pickler.fast = True
    pickler.dump(value)
    return out.getvalue()


@contextmanager
def plans_shared() -> Iterator[None]:
    """Calls of the program in this process share their plans for the time of the block."""
    with pytest.MonkeyPatch.context() as patch:
        if vars(plans)["plan"] is plan:  # and not what a test has put in its place
            patch.setattr(plans, "plan", _shared_plan)
        yield
