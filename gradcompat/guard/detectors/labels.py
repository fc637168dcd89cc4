"""Labels of the first batch: one position ahead, end-of-sequence tokens taught, padding left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Batch, Step

ALIGNED = 0.98  # share of labels that equal a token at one offset
NOT_ALIGNED = 0.9  # repetitive text agrees at several offsets


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """What counts as a label in the first batch is what should be learned."""
    batch = step.batch
    if batch is None:
        return
    found = [*_unlabelled(batch), *_offset(batch), *_ends(batch), *_padding(batch)]
    yield from found
    if not found and (batch.offsets is not None or batch.unlabelled[1]):
        yield Verified("labels")


def _unlabelled(batch: Batch) -> Iterator[Finding]:
    empty, rows = batch.unlabelled
    if empty:
        every = empty == rows
        yield Finding(
            "labels",
            "error" if every else "warning",
            f"{empty} of {rows} samples of the first micro-batch have no label that counts",
            {"unlabelled": empty, "samples": rows, "right": 0},
            ("masking", "nan"),
        )


def _offset(batch: Batch) -> Iterator[Finding]:
    if batch.offsets is None or not batch.causal:
        return
    here, ahead, further = batch.offsets
    if ahead >= NOT_ALIGNED:
        return
    if further >= ALIGNED:
        text = "labels are shifted twice: the model learns the token after the next one"
    elif here >= ALIGNED:
        text = "labels are not shifted: the model learns to repeat its input"
    else:
        return
    measured = {"next_token_share": round(ahead, 4), "right": 1.0}
    yield Finding("labels", "error", text, measured, ("wrong-loss", "masking"))


def _ends(batch: Batch) -> Iterator[Finding]:
    rows, left_out = batch.ends
    if rows and left_out == rows:
        yield Finding(
            "labels",
            "error",
            f"the end-of-sequence token is no label in any of {rows} samples that end with it: the model is not taught "
            "to stop",
            {"ends": rows, "left_out": left_out, "right": 0},
            ("masking",),
        )


def _padding(batch: Batch) -> Iterator[Finding]:
    if batch.padding_labels:
        yield Finding(
            "labels",
            "warning",
            f"{batch.padding_labels} padding positions count as labels",
            {"padding_labels": batch.padding_labels, "right": 0},
            ("masking", "wrong-loss"),
        )
