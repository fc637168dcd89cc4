"""One step of a run as the detectors take it, and how numbers and places are put into sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Step:
    """The metrics of one line; None for those that it does not state. ``line`` is 0 where there are no lines.

    Nobody changes one. It is not frozen since there may be millions, and a frozen one takes four times as long to make.

    Attributes:
        position: where in the run it is, to be compared with others of the run.
    """

    line: int
    loss: float | None = None
    grad_norm: float | None = None
    learning_rate: float | None = None
    epoch: float | None = None
    step: float | None = None
    loss_scale: float | None = None
    skipped: float | None = None
    scale_at_minimum: bool = False
    other_objective: bool = False
    reward_std: float | None = None
    position: tuple[float, float] | None = field(init=False)

    def __post_init__(self) -> None:
        epoch, step = self.epoch, self.step
        if epoch is None and step is None:
            self.position = None
            return
        # A whole epoch counts with steps that begin again in each; a broken one says it all, and steps count through.
        self.position = (
            epoch if epoch is not None and math.isfinite(epoch) else 0.0,
            step if step is not None and math.isfinite(step) else 0.0,
        )

    @classmethod
    def from_values(cls, values: Mapping[str, float], line: int) -> Step:
        """From metrics by their canonical names."""
        get = values.get
        return cls(
            line,
            get("loss"),
            get("grad_norm"),
            get("learning_rate"),
            get("epoch"),
            get("step"),
            get("loss_scale"),
            get("skipped"),
            "loss_scale_minimum" in values,
            "other_objective" in values,
            get("reward_std"),
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
