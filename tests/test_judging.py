"""Verdicts from measured values, without running anything."""

from __future__ import annotations

import pytest

from gradcompat.model.probe import Measurement, Outcome, ProbeSpec
from gradcompat.recipes.recipe import Expectation, Recipe
from gradcompat.recipes.verdict import judge

RECIPE = Recipe(
    name="toy",
    module="toy",
    summary="A toy",
    expectations=(
        Expectation("loss_ratio", 0.98, 1.02, "the loss is {} times as large"),
        Expectation("cosine", 0.99, 1.01, "the directions agree to {}"),
    ),
    controls=(Expectation("control", 0.98, 1.02, "the repetition gives {} times the loss"),),
)
RIGHT: dict[str, bool | int | float | str | None] = {"loss_ratio": 1.0, "cosine": 1.0, "control": 1.0}


def verdict(quantities: tuple[str, ...] = (), **values: bool | int | float | str | None) -> tuple[Outcome, str]:
    measurement = Measurement(spec=ProbeSpec(name="toy"), state="measured", values={**RIGHT, **values})
    return judge(RECIPE, measurement, quantities)


def test_what_lies_within_all_bounds_is_not_reproduced() -> None:
    assert verdict() == ("not_reproduced", "the loss is 1 times as large, and the directions agree to 1")


def test_one_value_beyond_its_bounds_is_enough() -> None:
    assert verdict(loss_ratio=4.0) == ("reproduced", "the loss is 4 times as large")
    assert verdict(loss_ratio=0.25, cosine=0.1234567) == (
        "reproduced",
        "the loss is 0.25 times as large, and the directions agree to 0.1235",
    )


def test_only_the_quantities_of_the_defect_count() -> None:
    assert verdict(("cosine",), loss_ratio=4.0) == ("not_reproduced", "the directions agree to 1")


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_no_number_is_not_right(value: str) -> None:
    assert verdict(loss_ratio=value) == ("reproduced", f"the loss is {value} times as large")


@pytest.mark.parametrize("value", [2.0, "nan", None])
def test_a_control_that_fails_makes_it_inconclusive(value: float | str | None) -> None:
    outcome, reason = verdict(loss_ratio=4.0, control=value)
    assert outcome == "inconclusive"
    assert reason.startswith("the control is not right: the repetition gives ")


def test_what_a_variant_does_not_measure_decides_nothing() -> None:
    values: dict[str, bool | int | float | str | None] = {"cosine": 1.0, "control": 1.0}
    measurement = Measurement(spec=ProbeSpec(name="toy"), state="measured", values=values)
    assert judge(RECIPE, measurement) == ("not_reproduced", "the directions agree to 1")
    assert judge(RECIPE, measurement, ("loss_ratio",)) == (
        "inconclusive",
        "nothing was measured that the defect is about",
    )


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("skipped", "skipped"),
        ("failed", "inconclusive"),
        ("crashed", "inconclusive"),
        ("hung", "inconclusive"),
        ("memory", "inconclusive"),
    ],
)
def test_what_was_not_measured_keeps_its_reason(state: str, outcome: str) -> None:
    measurement = Measurement(spec=ProbeSpec(name="toy"), state=state, reason="because")  # type: ignore[arg-type]
    assert judge(RECIPE, measurement) == (outcome, "because")
