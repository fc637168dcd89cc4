"""Every trainable parameter that is used gets a gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Step

# A branch whose output nobody reads is no defect (the last norm of CLIP in LLaVA); a large part of the model is.
LARGE_PART = 0.3


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """No parameter ran without a graph, and few that ran have no gradient or one of zeros."""
    gradients = step.gradients
    if gradients is None or gradients.partitioned or (gradients.flat and not gradients.zero):
        yield Unverified(
            "missing gradient", "the optimizer gets no gradient of the model that can be read (FSDP, DeepSpeed)"
        )
        return
    found = [*_without_graph(step), *_cut_off(step), *_zero(step)]
    yield from found
    if not found:
        yield Verified("missing gradient")


def _without_graph(step: Step) -> Iterator[Finding]:
    gradients = step.gradients
    if gradients is not None and gradients.without_graph:
        names = gradients.without_graph
        yield Finding(
            "missing gradient",
            "error",
            f"{len(names)} of {gradients.trainable} trainable tensors ran with gradients disabled and get none, "
            f"{names[0]} first: reentrant checkpointing over inputs that require no grad",
            {"without_gradient": len(names), "trainable": gradients.trainable, "right": 0},
            ("lost-gradient", "no-op-training"),
        )


def _cut_off(step: Step) -> Iterator[Finding]:
    gradients = step.gradients
    if gradients is not None and gradients.cut_off:
        names, share = gradients.cut_off, gradients.cut_off_share
        yield Finding(
            "missing gradient",
            "error" if share > LARGE_PART else "note",
            f"{len(names)} of {gradients.trainable} trainable tensors ({share:.0%}) were used and got no gradient, "
            f"{names[0]} first",
            {"without_gradient": len(names), "trainable": gradients.trainable, "right": 0},
            ("lost-gradient", "no-op-training"),
        )


def _zero(step: Step) -> Iterator[Finding]:
    gradients = step.gradients
    if gradients is not None and len(gradients.zero) * 2 > gradients.trainable:
        yield Finding(
            "missing gradient",
            "error" if len(gradients.zero) == gradients.trainable else "warning",
            f"{len(gradients.zero)} of {gradients.trainable} gradients are exactly 0, {gradients.zero[0]} first",
            {"zero": len(gradients.zero), "trainable": gradients.trainable, "right": 0},
            ("lost-gradient", "no-op-training"),
        )
