"""The weight with which the labels of a step count: what one large batch gives them is 1.

Summed over an optimizer step, the gradients that arrive at the loss function add up to 1 however micro-batches and
ranks are averaged, so neither versions nor dropout matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradcompat.guard.detectors import token_weights
from gradcompat.guard.findings import Finding, Level, Number, Outcome, Unverified, Verified
from gradcompat.guard.measurement import Run, Step

TOLERANCE = 0.03  # bf16 rounding is below it, and the smallest factor that is looked for is 2
FACTOR_TOLERANCE = 0.08  # to call a ratio a factor of the accumulation or the world
_CATEGORIES = ("gradient-scale", "loss-scale", "wrong-gradient")


def judge(step: Step, earlier: Sequence[Step]) -> Iterator[Outcome]:
    """The weights of all micro-batches and ranks add up to 1."""
    if not step.finite:
        return
    if step.replay is not None and step.replay.weight is None and not step.terms:
        yield from _by_loss(step)
        return
    if not any(micro.terms for micro in step.micro_batches):
        where = "torch.compile computes it" if step.compiled else "fused or hand-written loss"
        yield Unverified("objective weight", f"no loss function of torch was called ({where})")
        return
    if is_right(step):
        yield Verified("objective weight")
        return
    own = step.replay.weight if step.replay is not None else None
    if own:
        ratio = step.first / own
        if abs(ratio - 1) <= TOLERANCE:  # it is weighted on purpose: a batch of its own has the same weight
            yield Verified("objective weight")
            return
    else:
        ratio = step.total
    if not own and step.accumulation is None and _is_sum(step):
        # An accumulation that nobody divides, or several losses of one step: more steps tell.
        yield Unverified("objective weight", "several backward passes add up, and nobody says that they accumulate")
        return
    if (
        not own
        and step.uneven
        and _factor(ratio, step.accumulation or len(step.micro_batches), len(step.ranks)) is None
    ):
        yield Unverified("objective weight", "samples are weighted one by one")
        return
    if step.engine and step.accumulation and abs(ratio / step.accumulation - 1) <= FACTOR_TOLERANCE:
        yield Unverified("objective weight", "DeepSpeed may divide gradients behind the loss")
        return
    certain = bool(own) or (step.accumulation is not None and step.terms == 1)
    yield _finding(step, ratio, certain=certain, earlier=earlier)


def judge_run(run: Run) -> Iterator[Outcome]:
    """In a loop with one optimizer, several backward passes of a step are an accumulation, and should be a mean."""
    sums = [step for step in run.steps if step.accumulation is None and step.replay is None and _is_sum(step)]
    if run.optimizers == 1 and sums and len(sums) == len(run.steps):
        yield _finding(sums[0], sums[0].total, certain=False, earlier=())


def _is_sum(step: Step) -> bool:
    count = len(step.micro_batches)
    return count > 1 and step.terms == 1 and abs(step.total / count - 1) <= TOLERANCE


def is_right(step: Step) -> bool:
    """Whether the first term, or all terms together, have the weight 1."""
    return any(abs(weight - 1) <= TOLERANCE for weight in (step.first, step.total))


def _by_loss(step: Step) -> Iterator[Outcome]:
    """Without a loss function that was seen: the loss of the first micro-batch against the same one alone."""
    replay = step.replay
    if replay is None or not replay.loss:
        yield Unverified("objective weight", "no loss function of torch was called, and a replay gave no loss")
        return
    count = len(step.micro_batches)
    ratio = step.micro_batches[0].loss / replay.loss
    expected = {1 / count, replay.share or 1 / count}
    if any(abs(ratio / share - 1) <= TOLERANCE for share in expected):
        yield Verified("objective weight")
        yield from token_weights.of_share(ratio, count, replay.share)
        return
    yield _finding(step, ratio * count, certain=True, earlier=())


def _finding(step: Step, ratio: float, *, certain: bool, earlier: Sequence[Step]) -> Finding:
    count, world = len(step.micro_batches), len(step.ranks)
    asked = step.accumulation or count
    measured: dict[str, Number] = {
        "weight": round(ratio, 6),
        "right": 1.0,
        "micro_batches": count,
        "accumulation": asked,
        "ranks": world,
    }
    if count < asked and abs(ratio * asked / count - 1) <= FACTOR_TOLERANCE:
        return _short_step(step, measured, earlier)
    factor = _factor(ratio, asked, world)
    if factor is None:
        # Without a replay the loss may be weighted on purpose.
        level: Level = "warning" if certain and abs(ratio - 1) > 0.1 else "note"
        text = f"the labels of step {step.number} count {ratio:.4g} times, 1 is what one large batch gives them"
        return Finding("objective weight", level, text, measured, _CATEGORIES)
    undivided = step.accumulation is not None and abs(ratio / asked - 1) <= FACTOR_TOLERANCE
    size = "large" if ratio > 1 else "small"
    text = (
        f"the gradients of step {step.number} are {max(ratio, 1 / ratio):.4g} times too {size} ({factor}): "
        f"their weight is {ratio:.4g}, 1 is right"
    )
    facts = {"model.uses_num_items_in_batch": False} if certain and undivided else {}
    return Finding("objective weight", "error" if certain else "warning", text, measured, _CATEGORIES, facts)


def _short_step(step: Step, measured: dict[str, Number], earlier: Sequence[Step]) -> Finding:
    """Fewer micro-batches than were asked for: the tail of an epoch, or an optimizer that steps on each of them."""
    count, asked = len(step.micro_batches), step.accumulation
    if count == 1 and any(len(one.micro_batches) == 1 for one in earlier):
        return Finding(
            "objective weight",
            "error",
            f"the optimizer steps on every micro-batch although gradient accumulation over {asked} is asked for, and "
            f"each counts {measured['weight']:.4g} times instead of once",
            measured,
            ("optimizer", "gradient-scale"),
        )
    return Finding(
        "objective weight",
        "note",
        f"step {step.number} has {count} of {asked} micro-batches and is divided as if it had all",
        measured,
        _CATEGORIES,
    )


def _factor(ratio: float, accumulation: int, world: int) -> str | None:
    """What makes the ratio, in words."""
    candidates = [
        (accumulation, "gradient_accumulation_steps"),
        (world, "the number of processes"),
        (accumulation * world if world > 1 else 1, "gradient_accumulation_steps times the number of processes"),
        (accumulation**2, "gradient_accumulation_steps squared"),
    ]
    matching = [
        name
        for factor, name in candidates
        if factor != 1 and any(abs(one / factor - 1) <= FACTOR_TOLERANCE for one in (ratio, 1 / ratio if ratio else 0))
    ]
    return " or ".join(matching) or None
