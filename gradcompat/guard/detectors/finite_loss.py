"""Losses and gradients are numbers, whatever the log shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Step


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """No loss that backward started from is NaN or infinite, nor is a gradient that the optimizer gets."""
    bad = sum(not math.isfinite(micro.loss) for micro in step.micro_batches)
    norm = step.gradients.norm if step.gradients is not None else None
    if not bad and norm is not None and not math.isfinite(norm):
        yield Finding(
            detector="finite loss",
            level="error",
            text="gradients that the optimizer gets are NaN or infinite although the loss is a number",
            measured={"loss": step.loss},
            categories=("nan", "wrong-gradient"),
        )
        return
    if not bad:
        yield Verified("finite loss")
        return
    yield Finding(
        detector="finite loss",
        level="error",
        text=f"the loss of {bad} of {len(step.micro_batches)} micro-batches is NaN or infinite, a number is right",
        measured={"not_finite": bad},
        categories=("nan",),
    )
