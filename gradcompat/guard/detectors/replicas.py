"""Ranks hold the same parameters and see different samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Verified
from gradcompat.guard.measurement import Step

TOLERANCE = 1e-6  # of a sum over sampled parameters, which is exact where they are equal


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """Compare digests of parameters and of the first batch over ranks."""
    if len(step.ranks) < 2:
        return
    parameters = [rank.parameters for rank in step.ranks]
    same = _are_equal(parameters)
    if not same:
        yield _apart(parameters, f"before step {step.number}")
    data = [rank.data for rank in step.ranks if rank.data]
    repeated = len(data) > 1 and len(set(data)) == 1
    if repeated:
        yield Finding(
            "replicas",
            "warning",
            f"all {len(data)} ranks train on the same first batch",
            {"ranks": len(data), "right": 1},
            ("data-order",),
        )
    if same and not repeated:
        yield Verified("replicas")


def judge_end(parameters: Sequence[float], steps: int) -> Iterator[Outcome]:
    """Compare digests of parameters over ranks once more, when the last guarded step is made.

    Args:
        parameters: a digest a rank.
        steps: that were guarded.
    """
    if not _are_equal(parameters):
        yield _apart(parameters, f"after step {steps}")


def _are_equal(parameters: Sequence[float]) -> bool:
    return all(math.isclose(one, parameters[0], rel_tol=TOLERANCE, abs_tol=1e-12) for one in parameters)


def _apart(parameters: Sequence[float], when: str) -> Finding:
    return Finding(
        "replicas",
        "error",
        f"parameters differ between ranks {when}: their replicas train apart",
        {"lowest": min(parameters), "highest": max(parameters)},
        ("wrong-gradient", "weights"),
    )
