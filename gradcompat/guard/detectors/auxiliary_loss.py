"""What is added to the loss (a router's balancing loss, z-loss) counts as in a batch of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.findings import Finding, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Step

SMALLEST_SHARE = 0.002  # of the loss: below it rounding is as large
TOLERANCE = 0.2  # batches differ, and so do their auxiliary losses


def is_there(step: Step) -> bool:
    """Whether some part of the loss comes from no loss function."""
    return bool(step.terms) and step.finite and abs(step.unexplained) > SMALLEST_SHARE * abs(step.loss)


def judge(step: Step, _earlier: Sequence[Step]) -> Iterator[Outcome]:
    """The part of the loss that no loss function accounts for has the weight of the rest."""
    if not is_there(step):
        return
    replay = step.replay
    if replay is None:
        yield Unverified(
            "auxiliary loss", "a part of the loss comes from no loss function, and nothing can be replayed"
        )
        return
    if not replay.weight or abs(replay.unexplained) <= SMALLEST_SHARE * abs(replay.loss):
        return
    ratio = step.unexplained / replay.unexplained / (step.first or 1.0) * replay.weight
    asked = step.accumulation or len(step.micro_batches)
    if asked > 1 and abs(ratio / asked - 1) <= TOLERANCE:
        yield Finding(
            "auxiliary loss",
            "error",
            f"what is added to the loss beside {step.micro_batches[0].terms[0].function} counts {ratio:.3g} times as "
            "much as in a batch of its own, once is right (gradient_accumulation_steps)",
            {"ratio": round(ratio, 4), "right": 1.0, "accumulation": asked},
            ("loss-scale", "wrong-gradient", "wrong-loss", "gradient-scale"),
        )
    else:
        yield Verified("auxiliary loss")
