"""Clipping that was asked for happens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Step

TOLERANCE = 0.02  # of max_grad_norm


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """No gradient of a larger norm than ``max_grad_norm`` reaches the optimizer."""
    norm = step.gradients.norm if step.gradients is not None else None
    limit = step.max_grad_norm
    if norm is None or not limit:
        return
    if norm <= limit * (1 + TOLERANCE):
        yield Verified("clipping")
        return
    yield Finding(
        "clipping",
        "error",
        f"gradients of norm {norm:.4g} reach the optimizer, and max_grad_norm {limit:g} was asked for",
        {"norm": norm, "right": limit},
        ("clipping", "gradient-scale"),
    )
