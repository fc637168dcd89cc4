"""A recipe: what it measures, what it takes, and what its numbers have to be when nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradcompat.model.probe import ParameterValue


@dataclass(frozen=True, slots=True)
class Expectation:
    """One value, and where it lies when nothing is wrong.

    Attributes:
        value: its name among the measured values.
        low: the least that is right.
        high: the most that is right.
        sentence: what it is, with ``{}`` in the place of the number.
    """

    value: str
    low: float
    high: float
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One kind of measurement.

    Attributes:
        name: as records name it.
        module: below ``inside/recipes``.
        summary: what it compares, in one sentence.
        parameters: what it takes, with the values that each may have, the default first.
        expectations: what its values are when nothing is wrong; one that is not makes the defect ``reproduced``.
        controls: the same for the control that ran beside it; one that is not makes the run ``inconclusive``.
        variants: the parameters that the picture of the recipe shows, in its order.
        signs: value → the letter that stands in a picture where it alone is wrong, and what the letter means.
        seconds: how long it may take.
        devices: where it can run.
        needs: packages that have to be there, as modules.
        needs_for: value of a parameter → packages that it needs besides.
        environment: variables that it needs.
        alone: it changes its process.
        death: the end of the process is the defect, not a failure of the recipe.
    """

    name: str
    module: str
    summary: str
    parameters: Mapping[str, tuple[ParameterValue, ...]] = field(default_factory=dict)
    expectations: tuple[Expectation, ...]
    variants: tuple[Mapping[str, ParameterValue], ...] = ()
    signs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    controls: tuple[Expectation, ...] = ()
    seconds: float = 120.0
    devices: tuple[str, ...] = ("cpu", "cuda", "mps", "xpu")
    needs: tuple[str, ...] = ("torch",)
    needs_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False
    death: bool = False


INFINITE = float("inf")
