"""Parameters keep their dtype."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Run


def judge_run(run: Run) -> Iterator[Outcome]:
    """No parameter has another dtype than before the first step."""
    if not run.dtype_changed:
        yield Verified("dtype")
        return
    names = run.dtype_changed
    yield Finding(
        "dtype",
        "warning",
        f"{len(names)} parameters have changed their dtype, {names[0]} first",
        {"changed": len(names), "right": 0},
        ("dtype",),
    )
