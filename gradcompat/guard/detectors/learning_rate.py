"""The learning rate is what the schedule asks for, and not 0 once it has begun."""

from __future__ import annotations

from collections.abc import Iterator

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Run, Step

TOLERANCE = 1e-3  # of the rate: schedules are computed in double precision
SKIPPED = 0.5  # of the steps: a GradScaler that finds an overflow makes none, and the schedule waits with it


def judge_run(run: Run) -> Iterator[Outcome]:
    """Warm-up has the rate 0 in its first step, so all guarded steps are judged together."""
    rates = [max(step.rates) for step in run.steps if step.rates]
    if not rates:
        return
    found = [*_zero(rates), *_schedule(run), *_resumed(run)]
    yield from found
    if not found:
        yield Verified("learning rate")


def _zero(rates: list[float]) -> Iterator[Finding]:
    if max(rates) > 0:
        return
    steps = len(rates)
    yield Finding(
        "learning rate",
        "warning" if steps > 1 else "note",
        f"the learning rate is 0 in the first {steps} step{'s' if steps > 1 else ''}",
        {"rate": 0.0},
        ("no-op-training", "optimizer"),
    )


def _schedule(run: Run) -> Iterator[Finding]:
    """A schedule moves once a step or less, drives an optimizer that steps, and its rates are those of the step."""
    scheduled = [step for step in run.steps if step.schedule is not None]
    # A schedule that is made or moved before the first step begins there.
    later = [step for step in scheduled if step.number > 1 and step.schedule is not None]
    # The scheduler of accelerate moves once for each process, by design.
    quick = [step for step in later if step.schedule is not None and step.schedule.moves not in (0, 1, len(step.ranks))]
    if quick and len(quick) == len(later):
        moves = min(step.schedule.moves for step in quick if step.schedule is not None)
        yield Finding(
            "learning rate",
            "warning",
            f"the schedule moves {moves} times in each optimizer step, once is right unless its length was counted in "
            "micro-batches",
            {"moves": moves, "right": 1, "micro_batches": len(quick[0].micro_batches)},
            ("optimizer", "resume"),
        )
    elif later and all(step.schedule is not None and step.schedule.elsewhere for step in scheduled):
        yield Finding(
            "learning rate",
            "warning",
            "the schedule drives an optimizer that makes no step, so that the learning rate stays as it is",
            {"driven": 0, "right": 1},
            ("optimizer", "resume"),
        )
    yield from _rates(scheduled)


def _rates(steps: list[Step]) -> Iterator[Finding]:
    for step in steps:
        planned = step.schedule.planned if step.schedule is not None else ()
        pairs = [(rate, plan) for rate, plan in zip(step.rates, planned, strict=False) if plan or rate]
        unlike = [(rate, plan) for rate, plan in pairs if abs(rate - plan) > TOLERANCE * max(rate, plan)]
        if not unlike:
            continue
        rate, plan = unlike[0]
        yield Finding(
            "learning rate",
            # Whoever warms up by hand takes the schedule's rate times something below 1.
            "warning" if rate > plan else "note",
            f"step {step.number} is made with a learning rate of {rate:.4g}, and the schedule asks for {plan:.4g}",
            {"rate": rate, "right": plan},
            ("optimizer", "resume"),
        )
        return


def _resumed(run: Run) -> Iterator[Finding]:
    """A schedule that moves with each step stands where the steps of the run are, also if it is resumed."""
    for step in run.steps:
        schedule, taken = step.schedule, step.taken
        if schedule is None or schedule.position is None or not taken or not schedule.moves:
            continue  # of the first step nobody knows yet whether the schedule moves with it
        resumed = taken - (step.number - 1)
        before = schedule.position - schedule.moves * (step.number - 1)
        if not resumed or resumed * SKIPPED <= before <= resumed * max(schedule.moves, len(step.ranks)):
            return
        yield Finding(
            "learning rate",
            "warning",
            f"the run goes on behind step {resumed}, and its schedule behind {before}: it was not resumed with it",
            {"position": before, "right": resumed},
            ("resume", "optimizer"),
        )
        return
