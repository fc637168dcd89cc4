"""Steps as the guard measures them, without torch."""

from __future__ import annotations

from typing import Any

from gradcompat.guard.measurement import Gradients, GradientSample, LossTerm, MicroBatch, RankShare, Step


def step(*weights: float, labels: float = 10.0, number: int = 1, **other: Any) -> Step:
    """A step of one term a micro-batch, each with its weight and the same loss."""
    micro = tuple(MicroBatch(2.0 * weight, (LossTerm("cross_entropy", weight, labels, 2.0),)) for weight in weights)
    total = sum(weights)
    share = RankShare(first=total, total=total, labels=labels * len(weights), loss=2.0 * total)
    return Step(**{"number": number, "micro_batches": micro, "ranks": (share,), **other})


def gradients(*kept: float, cosine: float = 1.0, **other: Any) -> Gradients:
    """Gradients of which a sample is kept to each of these ratios."""
    samples = tuple(GradientSample(f"weight.{place}", ratio, cosine) for place, ratio in enumerate(kept))
    return Gradients(**{"trainable": max(1, len(kept)), "norm": 1.0, "samples": samples, **other})
