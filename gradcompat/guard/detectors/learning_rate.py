"""The learning rate is not 0 once the schedule has begun."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Run


def judge_run(run: Run) -> Iterator[Outcome]:
    """Warm-up has the rate 0 in its first step, so two steps are judged together."""
    rates = [max(step.rates) for step in run.steps if step.rates]
    if not rates:
        return
    if max(rates) > 0:
        yield Verified("learning rate")
        return
    steps = len(rates)
    yield Finding(
        "learning rate",
        "warning" if steps > 1 else "note",
        f"the learning rate is 0 in the first {steps} step{'s' if steps > 1 else ''}",
        {"rate": 0.0},
        ("no-op-training", "optimizer"),
    )
