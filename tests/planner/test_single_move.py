"""What is looked at for a move of one package: all issues that can see it. That it is the plan is in test_smallest."""

from __future__ import annotations

from gradcompat.knowledge.load import load
from gradcompat.matching.alike_runs import packages_seen
from gradcompat.planner.single_move import _speaking_of


def test_the_records_of_what_is_listed_are_all_that_can_tell_the_moves_of_a_package_apart() -> None:
    base = load()
    for names in map(frozenset, ({"transformers"}, {"torch", "deepspeed"}, {"deepspeed"}, {"peft", "trl"}, {"numpy"})):
        listed = names | {"accelerate", "datasets"}
        seeing = {issue.id for issue in base.in_force() if not names.isdisjoint(packages_seen(issue))}
        may_be_found = {
            issue.id
            for issue in base.in_force()
            if any(term.name in listed for one in issue.affected for term in one.packages)
        }
        found = _speaking_of(names, base.about_packages(listed))
        ids = {issue.id for issue in found}
        assert seeing & may_be_found <= ids <= {issue.id for issue in _speaking_of(names, base.in_force())}
        assert 0 < len(found) < len(base.in_force()) / 2
