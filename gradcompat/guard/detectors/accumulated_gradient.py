"""The optimizer gets what autograd delivered, micro-batch by micro-batch, but for one common factor: clipping."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Step

TOLERANCE = 0.1  # of the ratio of norms
SMALLEST_COSINE = 0.98
CLIPPED_FROM = 0.97  # of max_grad_norm: below it nothing was clipped


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """The gradients of the sampled tensors are the sums of their micro-batches."""
    gradients = step.gradients
    if gradients is None or not gradients.samples or not step.finite or not math.isfinite(gradients.norm or 0.0):
        yield Unverified("accumulated gradient", "no gradient can be compared with what autograd delivered")
        return
    ratios = [sample.kept for sample in gradients.samples]
    low, high, cosine = min(ratios), max(ratios), min(sample.cosine for sample in gradients.samples)
    measured = {"lowest": round(low, 6), "highest": round(high, 6), "cosine": round(cosine, 4), "right": 1.0}
    # Whoever clips scales all tensors alike, and only down.
    clipped = high if _clips(step) and high <= 1 else 1.0
    uniform = low > 0 and high / low <= 1 + TOLERANCE
    if cosine >= SMALLEST_COSINE and uniform and abs(high / clipped - 1) <= TOLERANCE:
        yield Verified("accumulated gradient")
        return
    yield Finding(
        "accumulated gradient", "error", _sentence(step, low, high, cosine), measured, _categories(step, high)
    )


def _clips(step: Step) -> bool:
    norm, limit = step.gradients.norm if step.gradients is not None else None, step.max_grad_norm
    if limit == 0 or (step.gradients is not None and step.gradients.partitioned):
        return False
    return limit is None or norm is None or norm >= limit * CLIPPED_FROM


def _categories(step: Step, high: float) -> tuple[str, ...]:
    if step.loss_scale != 1 and abs(high / step.loss_scale - 1) <= TOLERANCE:
        return ("gradient-scale",)
    return ("lost-gradient", "wrong-gradient", "gradient-scale", "clipping")


def _sentence(step: Step, low: float, high: float, cosine: float) -> str:
    if step.loss_scale != 1 and abs(high / step.loss_scale - 1) <= TOLERANCE and cosine >= SMALLEST_COSINE:
        return f"gradients reach the optimizer {high:.4g} times too large: the GradScaler's factor is still in them"
    range_ = f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g}"
    if step.gradients is not None and step.gradients.leftover:
        return (
            f"the gradients of an earlier step are still in those that the optimizer gets ({range_} times, 1 is right)"
        )
    count = len(step.micro_batches)
    return (
        f"the optimizer gets {range_} times what {count} micro-batch{'es' if count > 1 else ''} delivered "
        f"(cosine {cosine:.3f}), 1 is right"
    )
