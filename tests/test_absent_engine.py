"""A strategy that is not DeepSpeed says all that a second combination with ``deepspeed: absent`` would say."""

from __future__ import annotations

from itertools import product

import pytest

from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment, Package
from gradcompat.model.issue import PackageAbsentTerm
from tests.building import NAMES, compares, environment, equals, issue, package, versions

TERMS = (
    versions("transformers", ">=4.46.0,<4.48.0"),
    compares("training.gradient_accumulation_steps", ">", 1),
    equals("model.uses_num_items_in_batch", False),
)
ANOTHER = compares("distributed.strategy", "!=", "deepspeed")
TWICE = issue((*TERMS, PackageAbsentTerm(name="deepspeed")), (*TERMS, ANOTHER))
ONCE = issue((*TERMS, ANOTHER))

TRANSFORMERS: tuple[tuple[Package, ...], ...] = (
    (package("transformers", "4.46.3"),),
    (package("transformers", "4.48.0"),),
    (package("transformers", "4.46.3", forks=("a",)), package("transformers", "4.48.0", forks=("b",))),
    (package("transformers", "4.46.3", forks=("a",)), package("transformers", "4.47.1", forks=("b",))),
    (package("transformers", specifier=">=4.46,<4.47"),),
    (package("transformers", specifier=">=4.40"),),
)
DEEPSPEED: tuple[tuple[Package, ...], ...] = (
    (),
    (package("deepspeed", "0.16.1"),),
    (package("deepspeed", "0.16.1", forks=("a",)),),
    (package("deepspeed", "0.16.1", marker="sys_platform == 'linux'"),),
    (package("deepspeed", "0.16.1", forks=("a",)), package("deepspeed", "0.16.2", forks=("b",))),
)
STEPS, FACTS = (4, 1, None), (False, True, None)


def worlds(strategy: str | None) -> list[Environment]:
    found = []
    for entries, beside, steps, fact, closed in product(TRANSFORMERS, DEEPSPEED, STEPS, FACTS, (True, False)):
        stated = {
            "distributed.strategy": strategy,
            "training.gradient_accumulation_steps": steps,
            "model.uses_num_items_in_batch": fact,
        }
        settings = {key: value for key, value in stated.items() if value is not None}
        found.append(environment(*entries, *beside, settings=settings, closed=closed))
    return found


def verdicts(world: Environment, *, twice: bool) -> list[tuple[str, frozenset[int]]]:
    found = match(world, [TWICE if twice else ONCE], NAMES)
    return [(finding.status, frozenset(map(id, finding.packages))) for finding in found]


@pytest.mark.parametrize("strategy", [None, "none", "ddp", "fsdp"])
def test_one_combination_says_what_two_said(strategy: str | None) -> None:
    for world in worlds(strategy):
        assert verdicts(world, twice=False) == verdicts(world, twice=True), world


def test_a_config_with_deepspeed_counts_more_than_a_list_without_it() -> None:
    for world in worlds("deepspeed"):
        assert [status for status, _ in verdicts(world, twice=False)] == ["not_affected"]
