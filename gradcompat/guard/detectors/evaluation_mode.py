"""Modules that act differently in training are in training mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Step


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """No dropout that asks for a probability above 0 is in evaluation mode in a training step."""
    if not step.evaluating:
        yield Verified("evaluation mode")
        return
    classes = ", ".join(sorted(set(step.evaluating)))
    yield Finding(
        "evaluation mode",
        "warning",
        f"{len(step.evaluating)} modules are in evaluation mode while the model trains ({classes}): dropout is off",
        {"evaluating": len(step.evaluating), "right": 0},
        ("behaviour-change",),
    )
