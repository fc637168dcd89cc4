"""One step of a run as the detectors take it, and how numbers and places are put into sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping


class Step:
    """The metrics of one line; None for those that it does not state. ``line`` is 0 where there are no lines.

    Nobody changes one. There may be millions, so it is a plain class: a dataclass takes twice as long to make from a
    mapping, and a frozen one four times.

    Args:
        values: metrics by their canonical names.
        line: the number of the line.

    Attributes:
        position: where in the run it is, to be compared with others of the run.
    """

    __slots__ = (
        "epoch",
        "grad_norm",
        "learning_rate",
        "line",
        "loss",
        "loss_scale",
        "other_objective",
        "position",
        "reward_std",
        "scale_at_minimum",
        "skipped",
        "step",
    )

    def __init__(self, values: Mapping[str, float], line: int) -> None:
        get = values.get
        self.line = line
        self.loss = get("loss")
        self.grad_norm = get("grad_norm")
        self.learning_rate = get("learning_rate")
        self.epoch = epoch = get("epoch")
        self.step = step = get("step")
        self.loss_scale = get("loss_scale")
        self.skipped = get("skipped")
        self.scale_at_minimum = "loss_scale_minimum" in values
        self.other_objective = "other_objective" in values
        self.reward_std = get("reward_std")
        self.position: tuple[float, float] | None = None
        if epoch is not None or step is not None:
            # A whole epoch counts with steps that begin again in each; a broken one says it all: steps count through.
            self.position = (
                epoch if epoch is not None and math.isfinite(epoch) else 0.0,
                step if step is not None and math.isfinite(step) else 0.0,
            )

    @property
    def example(self) -> str:
        """As a Trainer would have printed it."""
        pairs = (
            ("loss", self.loss),
            ("grad_norm", self.grad_norm),
            ("learning_rate", self.learning_rate),
            ("epoch", self.epoch),
        )
        return "{" + ", ".join(f"'{name}': {value!r}" for name, value in pairs if value is not None) + "}"


def is_behind(position: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether a run went back from ``other`` to ``position``.

    Where the epoch falls and the step rises, it is the epoch that is wrong: with streamed data nobody knows its length.
    """
    return position < other and position[1] <= other[1]


class Places:
    """The first lines of something, a few: where to look."""

    __slots__ = ("_first", "lines")
    _MOST = 3

    def __init__(self) -> None:
        self.lines: tuple[int, ...] = ()
        self._first: Step | None = None

    @property
    def example(self) -> str:
        """The first step as a Trainer would have printed it; empty if there is none."""
        return "" if self._first is None else self._first.example

    def add(self, step: Step) -> None:
        """Note a step, if there is still room."""
        if self._first is None:
            self._first = step
        if len(self.lines) < self._MOST and step.line:
            self.lines = (*self.lines, step.line)


def shown(value: float) -> str:
    """A number for a sentence: ``0.0312``, ``138``, ``1.5e+06``, ``nan``."""
    return f"{value:.4g}"
