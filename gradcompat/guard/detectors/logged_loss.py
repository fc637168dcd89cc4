"""The loss in the log is the loss that was trained on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified

TOLERANCE = 0.1  # around the accumulation or its inverse: the log rounds and averages


def judge_log(logged: float, trained: Sequence[float], accumulation: int | None) -> Iterator[Outcome]:
    """Compare a logged loss with the mean of the losses of the steps that it covers.

    Args:
        logged: as the log shows it.
        trained: losses that backward started from, one a step.
        accumulation: micro-batches that were asked for.
    """
    if not trained:
        return
    mean = math.fsum(trained) / len(trained)
    if not math.isfinite(mean):
        if math.isfinite(logged):
            yield Finding(
                "logged loss",
                "error",
                f"the log shows a loss of {logged:g} where it is NaN or infinite",
                {"logged": logged},
                ("nan",),
            )
        return
    if not math.isfinite(logged) or not logged or not mean:
        return
    ratio = logged / mean
    if (
        accumulation
        and accumulation > 1
        and any(abs(ratio / factor - 1) < TOLERANCE for factor in (accumulation, 1 / accumulation))
    ):
        yield Finding(
            "logged loss",
            "error",
            f"the log shows {ratio:.3g} times the loss that was trained on, 1 is right (gradient_accumulation_steps)",
            {"ratio": round(ratio, 4), "right": 1.0},
            ("loss-scale",),
        )
    else:
        yield Verified("logged loss")
