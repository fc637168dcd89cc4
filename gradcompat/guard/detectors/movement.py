"""Parameters that have a gradient and a learning rate move, and no others."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.guard.findings import Finding, Level, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Run


def judge_run(run: Run) -> Iterator[Outcome]:
    """After the guarded steps, some element of every parameter with a gradient is another number."""
    unfounded = list(_unfounded(run))
    yield from unfounded
    total = run.moved + len(run.still)
    if not total:
        if any(max(step.rates, default=0.0) > 0 for step in run.steps):
            why = "no parameter of a model has a gradient when the optimizer steps (DeepSpeed, another precision)"
            yield Unverified("movement", why)
        return
    if not run.still:
        if not unfounded:
            yield Verified("movement")
        return
    measured = {"still": len(run.still), "parameters": total, "right": 0}
    why = " (updates are below the precision of bfloat16 or float16)" if run.still_low_precision else ""
    if run.moved == 0:
        text = f"no parameter has moved in {len(run.steps)} steps{why}"
        text += "" if run.held else "; the optimizer holds none of them"
        yield Finding("movement", "error", text, measured, ("no-op-training", "optimizer", "dtype"))
        return
    text = f"{len(run.still)} of {total} tensors have not moved in {len(run.steps)} steps, {run.still[0]} first{why}"
    level: Level = "warning" if len(run.still) * 2 > total else "note"
    yield Finding("movement", level, text, measured, ("no-op-training", "dtype"))


def _unfounded(run: Run) -> Iterator[Finding]:
    """Momentum, or decay of weights, for parameters that no loss has reached."""
    if run.unfounded:
        count = len(run.unfounded)
        yield Finding(
            "movement",
            "warning",
            f"{count} tensor{'s have' if count > 1 else ' has'} no gradient and move{'' if count > 1 else 's'} in the "
            f"step of the optimizer, {run.unfounded[0]} first",
            {"unfounded": count, "right": 0},
            ("optimizer", "wrong-gradient"),
        )
