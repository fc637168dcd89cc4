"""A run that is resumed goes on behind the data that it has seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Step


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """The first batch of a resumed run is not the one that an earlier run began with."""
    if step.resumed is None:
        return
    if step.repeats is None:
        yield Unverified("resumed data", "no report of the run before lies where this one will")
    elif not step.repeats:
        yield Verified("resumed data")
    elif step.resumed == "inside an epoch":
        yield Finding(
            "resumed data",
            "warning",
            "the resumed run begins with the batch that the run before began with: its data repeats",
            {"repeats": True, "right": False},
            ("data-order", "resume"),
        )
    else:
        yield Finding(
            "resumed data",
            "note",
            "the resumed run begins with the batch that the run before began with, which is right at the start of an "
            "epoch that is not shuffled",
            {"repeats": True},
            ("data-order", "resume"),
        )
