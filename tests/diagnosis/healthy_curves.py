"""Healthy runs of many kinds, made up: what no detector may say anything about."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

# A step of a run as a Trainer logs it.
Row = dict[str, float]


def rows(seed: int) -> list[Row]:
    """A healthy run: how the loss falls, how noisy it is, its schedule and its logging are drawn by chance."""
    draw = random.Random(seed)  # noqa: S311 - the same curve for the same seed
    steps = draw.choice((3, 12, 40, 150, 400))
    kind = draw.choice(("decay", "decay", "line", "plateaus", "rewards", "memorised"))
    loss_of, norm_of = _objective(draw, kind, steps)
    rate_of = _schedule(draw, steps)
    epochs = draw.choice((0.3, 1.0, 3.0))
    every = draw.choice((1, 1, 5, 10))
    overflow = draw.random() < 0.15  # fp16: the first scales are too large, and later one now and then
    counted = draw.random() < 0.5
    made = []
    skipped = draw.randint(1, 6) if overflow else 0
    for step in range(1, steps + 1):
        norm = norm_of(step)
        if overflow and (step <= skipped or draw.random() < 0.01) and step < steps - 1:
            norm = draw.choice((math.inf, math.nan))
        row = {
            "loss": loss_of(step),
            "grad_norm": norm,
            "learning_rate": rate_of(max(0, step - 1 - skipped)),
            "epoch": round(epochs * step / steps, 2),
        }
        if kind == "rewards":
            row["reward"] = draw.gauss(0, 1)
        if counted:
            row["step"] = step * every
        made.append(row)
    return made


def lines(seed: int) -> Iterator[str]:
    """The same, as a Trainer prints it: version 4 with four digits behind the point, version 5 with four at all."""
    newer = seed % 2
    for index, row in enumerate(rows(seed)):
        if newer:
            pairs = (f"'{name}': '{value:.4g}'" for name, value in row.items())
        else:
            pairs = (f"'{name}': {round(value, 4) if name == 'loss' else value!r}" for name, value in row.items())
        yield f" {index}%|#    | {index}/999 [00:01<00:09, 1.2it/s]"
        yield "{" + ", ".join(pairs) + "}"


def _objective(draw: random.Random, kind: str, steps: int) -> tuple[Callable[[int], float], Callable[[int], float]]:
    start, end = draw.choice(((11.9, 2.5), (1.8, 0.9), (1.1, 1.0), (6.0, 0.2), (0.6931, 0.2), (2.0, 0.0), (0.05, 0.01)))
    pace = draw.choice((0.02, 0.1, 0.5)) * steps
    noise = draw.choice((0.01, 0.05, 0.2))
    wild = draw.choice((0.1, 0.4, 1.0))  # log of the gradient norm
    usual = draw.choice((0.02, 0.5, 3.0, 60.0))

    def loss(step: int) -> float:
        if kind == "rewards":  # GRPO: around zero, often none
            return 0.0 if draw.random() < 0.3 else draw.gauss(0, 0.02)
        if kind == "decay":
            mean = end + (start - end) * math.exp(-step / pace)
        elif kind == "line":
            mean = start + (end - start) * step / steps
        elif kind == "plateaus":  # falls from epoch to epoch
            mean = end + (start - end) * 0.6 ** (3 * step // steps)
        else:  # fades to nothing, which four digits print as 0.0
            return start * math.exp(-12.0 * step / steps) * math.exp(draw.gauss(0, noise / 2))
        return max(1e-4, mean * (1 + draw.gauss(0, noise)))

    def norm(step: int) -> float:
        early = 1 + 10 * math.exp(-step / 5)
        spike = draw.choice((5, 10)) if wild < 1 and draw.random() < 0.01 else 1
        return usual * early * spike * math.exp(draw.gauss(0, wild))

    return loss, norm


def _schedule(draw: random.Random, steps: int) -> Callable[[int], float]:
    peak = draw.choice((1e-2, 2e-5, 5e-7))
    warmup = draw.choice((0, 0, 3, steps // 10))
    kind = draw.choice(("constant", "linear", "cosine"))

    def rate(step: int) -> float:
        if step < warmup:
            return peak * step / warmup
        done = min(1.0, (step - warmup) / max(1, steps - 1 - warmup))
        if kind == "constant":
            return peak
        return peak * (1 - done) if kind == "linear" else peak * 0.5 * (1 + math.cos(math.pi * done))

    return rate
