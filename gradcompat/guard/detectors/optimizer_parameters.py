"""The optimizer holds the parameters that are to be trained."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Run


def judge_run(run: Run) -> Iterator[Outcome]:
    """Every trainable parameter of the model is in some optimizer that stepped."""
    total = run.held + len(run.unheld)
    if not total:
        yield Unverified("optimizer parameters", "no model with trainable parameters was seen")
        return
    if not run.unheld:
        yield Verified("optimizer parameters")
        return
    stale = run.foreign > 0
    if not run.held and not stale:
        yield Unverified(
            "optimizer parameters", "the optimizer holds copies of the parameters (FSDP 1, ZeRO, another precision)"
        )
        return
    text = f"{len(run.unheld)} of {total} trainable tensors are in no optimizer, {run.unheld[0]} first"
    if stale:
        text += f"; it holds {run.foreign} tensors that no model has any more"
    yield Finding(
        "optimizer parameters",
        "error" if stale or not run.held else "warning",
        text,
        {"unheld": len(run.unheld), "trainable": total, "foreign": run.foreign, "right": 0},
        ("no-op-training", "optimizer"),
    )
