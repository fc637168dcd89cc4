"""Parameters and the moments of optimizers keep their dtype."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Run


def judge_run(run: Run) -> Iterator[Outcome]:
    """No parameter has another dtype than before the first step, and no moment than it had or was saved in."""
    names, moments = run.dtype_changed, run.moments_changed
    if not names and not moments:
        yield Verified("dtype")
        return
    said = []
    if names:
        said.append(f"{len(names)} parameters have changed their dtype, {names[0]} first")
    if moments:
        ((change, _),) = Counter(moments).most_common(1)
        said.append(f"{len(moments)} moments of the optimizer have changed their dtype ({change})")
    measured = {"changed": len(names), "moments": len(moments), "right": 0}
    yield Finding("dtype", "warning", "; ".join(said), measured, ("dtype", "optimizer", "resume"))
