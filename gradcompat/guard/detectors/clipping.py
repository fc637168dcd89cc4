"""Clipping that was asked for happens, happens once, and of gradients as they are without a GradScaler's factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Clip, Step

TOLERANCE = 0.02  # of max_grad_norm
CLIPPED = 0.99  # of the gradients are kept at most by a call that has clipped something


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """No gradient of a larger norm than ``max_grad_norm`` reaches the optimizer, and none is clipped twice."""
    wrong = [*_repeated(step), *_scaled(step)]
    yield from wrong
    norm = step.gradients.norm if step.gradients is not None else None
    limit = step.max_grad_norm
    if norm is None or not limit:
        if _effective(step) and not wrong:
            yield Verified("clipping")
        elif limit and not wrong:
            yield Unverified("clipping", "the norm of all gradients cannot be read (DeepSpeed)")
        return
    if norm <= limit * (1 + TOLERANCE):
        if not wrong:
            yield Verified("clipping")
        return
    yield Finding(
        "clipping",
        "error",
        f"gradients of norm {norm:.4g} reach the optimizer, and max_grad_norm {limit:g} was asked for",
        {"norm": norm, "right": limit},
        ("clipping", "gradient-scale"),
    )


def _effective(step: Step) -> list[Clip]:
    return [one for one in step.clips if one.kept < CLIPPED]


def _repeated(step: Step) -> Iterator[Finding]:
    """The same parameters are clipped in the same way more than once, and each time it changes them.

    Groups of parameters may be clipped by themselves, and layers before the whole model.
    """
    groups: dict[tuple[str, frozenset[int]], list[Clip]] = {}
    for one in _effective(step):
        groups.setdefault((one.by, one.parameters), []).append(one)
    for calls in groups.values():
        if len(calls) < 2:
            continue
        between = len({one.backward for one in calls}) > 1
        asked = between and (step.accumulation or 1) > 1
        why = ": before all micro-batches were added up, so that the first of them count least" if between else ""
        yield Finding(
            "clipping",
            "error" if asked else "warning",  # a loop of one's own may do what it says
            f"the same gradients are clipped {len(calls)} times in step {step.number}, once is right{why}",
            {"clipped": len(calls), "right": 1},
            ("clipping", "gradient-scale", "wrong-gradient"),
        )
        return


def _scaled(step: Step) -> Iterator[Finding]:
    """A limit that does not count the factor of the GradScaler is as many times too small."""
    for one in _effective(step):
        if one.scale != 1:
            yield Finding(
                "clipping",
                "warning",
                f"gradients are clipped with the GradScaler's factor {one.scale:g} still in them, so that a limit "
                f"counts as 1/{one.scale:g} of what it says: scaler.unscale_(optimizer) belongs before it",
                {"scale": one.scale, "right": 1.0},
                ("clipping", "gradient-scale"),
            )
            return
