"""Modules that act differently in training are in training mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Step


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """No dropout that asks for a probability above 0 is in evaluation mode in a training step."""
    if step.evaluating is None:
        return
    if not step.evaluating:
        yield Verified("evaluation mode")
        return
    classes = sorted(set(step.evaluating))
    effects = [
        effect
        for effect, found in (
            ("dropout is off", any("Dropout" in one for one in classes)),
            ("batch normalization uses its running averages", any("BatchNorm" in one for one in classes)),
        )
        if found
    ]
    count = len(step.evaluating)
    yield Finding(
        "evaluation mode",
        "warning",
        f"{count} module{'s are' if count > 1 else ' is'} in evaluation mode while the model trains "
        f"({', '.join(classes)}): {' and '.join(effects)}",
        {"evaluating": len(step.evaluating), "right": 0},
        ("behaviour-change",),
    )
