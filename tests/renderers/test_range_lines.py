"""What is said of packages without a version: by which release they are judged, and of which nobody can say."""

from __future__ import annotations

from gradcompat.messages import ONLY_RANGE
from gradcompat.model.environment import Skipped
from gradcompat.renderers.range_lines import range_lines


def ranged(name: str, newest: str | None = None) -> Skipped:
    return Skipped(what=name, reason=ONLY_RANGE, gap=False, range=True, newest=newest)


def test_what_no_release_is_known_of_is_not_said_to_be_judged_by_one() -> None:
    """conda's packages have other releases than an index of Python's."""
    judged = [(ranged("numpy"), ("GC-0652",)), (ranged("wandb", "0.17.1"), ("GC-0652",))]
    others = [(ranged("timm", "1.0.3"), ()), (ranged("pytorch"), ())]
    assert range_lines([("environment.yml", [*judged, *others])]) == [
        "numpy: which release that is cannot be said; GC-0652 could apply",
        "wandb: 0.17.1 could bring GC-0652",
        "judged by their newest releases too: timm",
        "which release these are cannot be said: pytorch",
    ]
