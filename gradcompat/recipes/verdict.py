"""From a measurement to a verdict: the recipe's thresholds, with the control of the same run."""

from __future__ import annotations

from collections.abc import Collection

from gradcompat.model.probe import Measurement, Outcome
from gradcompat.recipes.recipe import Expectation, Recipe


def judge(recipe: Recipe, measurement: Measurement, quantities: Collection[str] = ()) -> tuple[Outcome, str]:
    """What a measurement shows, and the sentence that says why.

    Args:
        recipe: what was run.
        measurement: what came back.
        quantities: the values that the defect is about; empty for all that the recipe expects something of.
    """
    if measurement.state == "skipped":
        return "skipped", measurement.reason
    if measurement.state != "measured":
        if recipe.death and measurement.state == "crashed":
            return "reproduced", measurement.reason
        return "inconclusive", measurement.reason
    for expectation in recipe.controls:
        said = _violation(expectation, measurement)
        if said is not None:
            return "inconclusive", f"the control is not right: {said}"
    # What a variant of a recipe cannot measure is not among its values, and decides nothing.
    wanted = [
        expectation
        for expectation in recipe.expectations
        if (not quantities or expectation.value in quantities) and expectation.value in measurement.values
    ]
    if not wanted:
        return "inconclusive", "nothing was measured that the defect is about"
    wrong = [said for one in wanted if (said := _violation(one, measurement)) is not None]
    if wrong:
        return "reproduced", ", and ".join(wrong)
    return "not_reproduced", ", and ".join(_said(one, measurement) for one in wanted)


def wrong_values(recipe: Recipe, measurement: Measurement) -> tuple[str, ...]:
    """The names of the values that are not what the recipe expects."""
    return tuple(
        expectation.value
        for expectation in recipe.expectations
        if expectation.value in measurement.values and _violation(expectation, measurement) is not None
    )


def _violation(expectation: Expectation, measurement: Measurement) -> str | None:
    """What is wrong with a value, if anything; one that is missing or no number is not right."""
    value = measurement.values.get(expectation.value)
    if isinstance(value, (int, float)) and expectation.low <= value <= expectation.high:
        return None
    return _said(expectation, measurement)


def _said(expectation: Expectation, measurement: Measurement) -> str:
    value = measurement.values.get(expectation.value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return expectation.sentence.format("not a number" if value is None else value)
    return expectation.sentence.format(f"{value:.4g}")
