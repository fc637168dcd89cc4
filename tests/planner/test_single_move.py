"""What is looked at for a move of one package: all issues that can see it. That it is the plan is in test_smallest."""

from __future__ import annotations

from gradcompat.knowledge.load import load
from gradcompat.planner.single_move import _speaking_of


def test_the_records_of_a_package_are_all_that_can_tell_its_moves_apart() -> None:
    base = load()
    for names in map(frozenset, ({"transformers"}, {"torch", "deepspeed"}, {"deepspeed"}, {"peft", "trl"}, {"numpy"})):
        found = _speaking_of(names, base.concerning(names))
        assert found == _speaking_of(names, base.in_force())
        assert 0 < len(found) < len(base.in_force()) / 2
