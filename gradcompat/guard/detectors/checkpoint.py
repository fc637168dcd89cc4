"""The first checkpoint holds the parameters as they are."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Checkpoint


def judge_checkpoint(checkpoint: Checkpoint) -> Iterator[Outcome]:
    """Every trainable parameter is in the file, and every parameter in the file has the model's numbers."""
    if checkpoint.different and not checkpoint.equal and not checkpoint.cast:
        yield Unverified("checkpoint", "it has the names of the model and other weights: an average, or a copy")
    elif checkpoint.different:
        names = checkpoint.different
        yield Finding(
            "checkpoint",
            "warning",
            f"{len(names)} parameters of the checkpoint are other numbers than the model has, {names[0]} first",
            {"different": len(names), "equal": checkpoint.equal, "right": 0},
            ("checkpoint", "weights"),
        )
    elif checkpoint.missing and not checkpoint.unknown:
        names = checkpoint.missing
        yield Finding(
            "checkpoint",
            "warning",
            f"{len(names)} trainable parameters are not in the checkpoint, {names[0]} first",
            {"missing": len(names), "equal": checkpoint.equal, "right": 0},
            ("checkpoint", "weights"),
        )
    elif checkpoint.missing:
        count = len(checkpoint.missing)
        yield Unverified("checkpoint", f"{count} trainable parameters have other names in the file, or are not in it")
    elif checkpoint.cast:
        count = len(checkpoint.cast)
        yield Finding(
            "checkpoint",
            "note",
            f"{count} parameters of the checkpoint have another dtype than the model's, and its numbers in that dtype",
            {"cast": count},
            ("checkpoint", "dtype"),
        )
    else:
        yield Verified("checkpoint")
