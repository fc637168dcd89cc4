"""What a plan may do is counted in steps; where they do not suffice, it says that there is no plan within them."""

from __future__ import annotations

from typing import Any

import pytest

from gradcompat.audit import project_files
from gradcompat.budget import Budget
from gradcompat.matching.matcher import match
from gradcompat.model.issue import Issue
from gradcompat.model.plan import Plan
from gradcompat.planner.plan import plan
from gradcompat.planner.request import Request
from gradcompat.requirements.versions import VersionSet, any_of
from tests.building import NAMES, package
from tests.building import environment as built
from tests.planner.toy import TARGET, Table, issue, table

# Only the last release can be installed, and a search looks at all before it.
LONG: dict[str, Any] = {
    "one": {"1.0": [], **{f"1.{number}": ["trl>=9"] for number in range(1, 400)}, "1.400": []},
    "trl": {"0.9.0": [], "0.9.1": []},
}


def made_within(steps: int, issues: list[Issue], catalogue: Table) -> tuple[Plan, Budget]:
    here = built(package("one", "1.0"), package("trl", "0.9.0"))
    budget = Budget(steps)
    found = match(here, issues, NAMES)
    return plan(here, found, issues, NAMES, catalogue, Request(target=TARGET), budget=budget), budget


def records(count: int) -> list[Issue]:
    """Each is about one package alone, and only the first of them is there."""
    others = [issue(number, {"affected": [{"packages": {"one": f">=2.{number}"}}]}) for number in range(2, count + 1)]
    return [issue(1, {"affected": [{"packages": {"one": "==1.0"}}]}), *others]


def test_a_plan_that_its_budget_suffices_for() -> None:
    made, budget = made_within(1_000_000, records(1), table(LONG))
    assert (made.complete, made.verified.smallest, made.verified.unverified) == (True, True, ())
    assert not budget.spent


def test_no_plan_within_the_budget_is_said_in_one_line() -> None:
    made, _ = made_within(20_000, records(1), table(LONG))
    assert (made.complete, made.changes, made.remaining, made.verified.smallest) == (False, (), ("GC-0001",), False)
    assert made.verified.unverified[0] == (
        "no plan that clears everything within the budget of 20,000 steps: plan one environment alone, "
        "or hold packages with `--keep NAME`"
    )
    assert made.core[-1] == "the search was cut off after 20,000 steps, so that a plan may exist nevertheless"


def test_with_several_findings_the_line_names_one_to_plan_for() -> None:
    issues = [*records(1), issue(2, {"affected": [{"packages": {"trl": "<9"}}]})]
    made, _ = made_within(20_000, issues, table(LONG))
    assert "one finding with `--only GC-0001`" in made.verified.unverified[0]


def test_an_environment_that_cannot_be_matched_again_is_not_looked_up() -> None:
    catalogue = table(LONG)
    made, budget = made_within(10, records(1), catalogue)
    assert (made.complete, made.changes, made.remaining) == (False, (), ("GC-0001",))
    assert made.verified.unverified[0].startswith("no plan that clears everything within the budget of 10 steps: ")
    assert catalogue.asked == []
    assert budget.spent


@pytest.mark.parametrize("steps", [100, 1_000, 3_000, 10_000, 30_000, 100_000])
def test_no_plan_takes_much_more_than_its_budget(steps: int) -> None:
    """Only what says the result, of a few packages, may come behind the last step."""
    _, budget = made_within(steps, records(1), table(LONG))
    assert budget.used <= steps


def test_all_records_about_a_package_are_one_question() -> None:
    """Sixty states each look at sixty releases of another package, and a hundred records speak of that."""
    catalogue = table({
        "one": {"1.0": [], **{f"1.{number}": ["two>=0.5", "trl>=9"] for number in range(1, 61)}},
        "two": {"0.1": [], **{f"1.{number}": [] for number in range(60)}},
        "trl": {"0.9.0": [], "0.9.1": []},
    })  # fmt: skip
    here = built(package("one", "1.0"), package("two", "0.1"), package("trl", "0.9.0"))

    def steps(records: int) -> int:
        about = [issue(number, {"affected": [{"packages": {"two": f"==1.{number}"}}]}) for number in range(2, records)]
        issues = [issue(1, {"affected": [{"packages": {"one": "==1.0"}}]}), *about]
        budget = Budget(10_000_000)
        plan(here, match(here, issues, NAMES), issues, NAMES, catalogue, Request(target=TARGET), budget=budget)
        return budget.used

    assert steps(102) < 2 * steps(3)


def test_requirements_are_not_read_once_the_budget_is_spent() -> None:
    class Counting(Table):
        read = 0

        def requires(self, release: Any) -> tuple[str, ...] | None:
            Counting.read += 1
            return super().requires(release)

    made_within(1_000_000, records(1), Counting(table(LONG).packages))
    whole = Counting.read
    Counting.read = 0
    made_within(20_000, records(1), Counting(table(LONG).packages))
    assert Counting.read < whole // 4


def test_what_a_project_asks_for_is_joined_once_for_each_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name on a thousand lines is one union, not a thousand."""
    joined: list[int] = []

    def counting(sets: Any) -> VersionSet:
        sets = list(sets)
        joined.append(len(sets))
        return any_of(sets)

    monkeypatch.setattr("gradcompat.audit.project_files.any_of", counting)
    asked = project_files._asked([built(*(package("torch", f"2.{number}.0") for number in range(1_000)))])
    assert joined == [1_000]
    assert len(asked["torch"].intervals) == 1_000
