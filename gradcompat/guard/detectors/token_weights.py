"""Labels weigh the same, in whichever micro-batch and on whichever rank they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Step

TOLERANCE = 0.05  # of the largest weight of a label over the smallest


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """The weight of one label is the same in all micro-batches and on all ranks."""
    if not step.terms or not step.finite:
        return
    if step.uneven:
        yield Unverified("token weights", "samples are weighted one by one")
        return
    first = [micro.terms[0] for micro in step.micro_batches]
    here = [term.weight / term.labels for term in first if term.labels and term.weight > 0]
    ranks = [rank.first / rank.labels for rank in step.ranks if rank.labels and rank.first > 0]
    spreads = {
        "micro-batch": max(here) / min(here) if len(here) > 1 else 1.0,
        "process": max(ranks) / min(ranks) if len(ranks) > 1 else 1.0,
    }
    where, spread = max(spreads.items(), key=lambda entry: entry[1])
    if len(here) < 2 and len(ranks) < 2:
        return
    if spread <= 1 + TOLERANCE:
        yield Verified("token weights")
        return
    yield _finding(where, spread)


def of_share(ratio: float, micro_batches: int, share: float | None) -> Iterator[Outcome]:
    """Where no loss function was seen: the first micro-batch counts by its share in all labels, and not by its number.

    Args:
        ratio: of its part in the loss to its loss alone.
        micro_batches: of the step.
        share: of its labels in all labels of the step; None if not known.
    """
    if share is None:
        return
    spread = share * micro_batches
    if abs(ratio / share - 1) <= TOLERANCE:
        yield Verified("token weights")
    else:
        yield _finding("micro-batch", max(spread, 1 / spread))


def _finding(where: str, spread: float) -> Finding:
    return Finding(
        "token weights",
        "warning",
        f"a label of one {where} counts {spread:.3g} times as much as one of another, once is right: means are "
        "averaged, whatever the number of labels behind them",
        {"spread": round(spread, 4), "right": 1.0},
        ("wrong-gradient", "loss-scale"),
        {"data.unequal_labels": True},
    )
