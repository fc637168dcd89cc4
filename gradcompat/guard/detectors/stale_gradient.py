"""What the optimizer gets was delivered in this step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Step


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """No parameter that backward has not reached is updated with the gradient of an earlier step."""
    gradients = step.gradients
    if gradients is None or gradients.partitioned or gradients.stale is None:
        return
    if not gradients.stale:
        yield Verified("stale gradient")
        return
    names = gradients.stale
    yield Finding(
        "stale gradient",
        "error",
        f"{len(names)} of {gradients.trainable} trainable tensors are updated with the gradient of an earlier step, "
        f"{names[0]} first: no backward pass of this one has reached them, and nobody has zeroed it",
        {"stale": len(names), "trainable": gradients.trainable, "right": 0},
        ("wrong-gradient", "gradient-scale"),
    )
