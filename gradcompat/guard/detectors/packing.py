"""Samples that share a row do not attend to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Step

TOLERANCE = 1e-3  # of the spread of logits: kernels round differently


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """Where ``position_ids`` begin anew within a row, the mask that reaches attention begins anew too."""
    batch = step.batch
    if batch is None or not batch.packed:
        return
    if batch.influence is not None:
        yield _by_influence(batch.influence)
        return
    if batch.problem:
        yield Unverified("packing, by forward passes", batch.problem)
    if batch.mixes is None:
        yield Unverified("packing", "no mask was seen at an attention that the guard knows (sdpa, eager)")
    elif batch.mixes:
        yield Finding(
            "packing",
            "error",
            "samples that share a row attend to each other: position_ids begin anew, and the mask lets the second "
            "sample see the first",
            {"mixes": True, "right": False},
            ("packing", "masking"),
            {"training.packing": True},
        )
    else:
        yield Verified("packing")


def _by_influence(influence: float) -> Outcome:
    """Another first sample changes no logit of those behind it."""
    if influence <= TOLERANCE:
        return Verified("packing")
    return Finding(
        "packing",
        "error",
        "samples that share a row influence each other: with another first sample the logits behind it change by "
        f"{influence:.2g} of their spread, 0 is right",
        {"influence": round(influence, 6), "right": 0.0},
        ("packing", "masking"),
        {"training.packing": True},
    )
