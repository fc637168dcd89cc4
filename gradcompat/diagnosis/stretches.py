"""A stretch of steps that state the same metrics, as columns: what detectors look at before they look at single steps.

Python takes some 100 nanoseconds for each thing that it does with a step, and some 10 for what ``min``, ``sum`` or
``map`` do with each number of a column. Most stretches hold nothing that a detector could see, and a few such calls
tell so. Numbers stay as they were written until somebody asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import lt, sub

from gradcompat.diagnosis.steps import Step

# What a form of lines states: numbers as they are written, or numbers that were made of several.
Column = Sequence[bytes] | Sequence[float]


class Stretch:
    """Consecutive steps whose lines have one form; there is at least one.

    Args:
        columns: the metrics by their canonical names, one value for each step.
        constant: the metrics that are the same in all steps.
        number: the line of a step.
        length: how many steps there are.
    """

    def __init__(
        self, columns: Mapping[str, Column], constant: Mapping[str, float], number: Callable[[int], int], length: int
    ) -> None:
        self.length = length
        self.other_objective = "other_objective" in constant
        self._written = columns
        self._constant = constant
        self._number = number
        self._floats: dict[str, list[float]] = {}
        self._steps: dict[int, Step] = {}

    def __len__(self) -> int:
        return self.length

    def states(self, name: str) -> bool:
        """Do the steps state that metric?"""
        return name in self._written or name in self._constant

    def value(self, name: str, index: int) -> float:
        """One value of a metric that they state."""
        return float(self._written[name][index]) if name in self._written else self._constant[name]

    def column(self, name: str) -> list[float]:
        """All values of a metric that they state."""
        found = self._floats.get(name)
        if found is None:
            found = self._floats[name] = self._read(name)
        return found

    def _read(self, name: str) -> list[float]:
        if name not in self._written:
            return [self._constant[name]] * self.length
        written: Sequence[bytes | float] = self._written[name]
        if self.length > 1 and written[0] == written[1]:
            # An epoch is the same for many steps, often for all of them.
            if written.count(written[0]) == self.length:
                return [float(written[0])] * self.length
            values = {text: float(text) for text in set(written)}
            return list(map(values.__getitem__, written))
        return list(map(float, written))

    def is_finite(self, name: str) -> bool:
        """Are all values of a metric finite? Those that are written in digits are, as they have few digits."""
        return name in self._written or math.isfinite(self._constant[name])

    def has_zero(self, name: str) -> bool:
        """Is one of the values of a metric 0?"""
        written = self._written.get(name)
        if written is not None and name not in self._floats:
            least = min(written)
            if isinstance(least, bytes) and least >= b"1":
                return False  # each of them begins with another digit
        return 0.0 in self.column(name)

    def position(self, index: int) -> tuple[float, float] | None:
        """The position of a step, see :class:`Step`; for steps that :meth:`go_on`."""
        epoch, step = self.states("epoch"), self.states("step")
        if not epoch and not step:
            return None
        return self.value("epoch", index) if epoch else 0.0, self.value("step", index) if step else 0.0

    def go_on(self, previous: tuple[float, float] | None) -> bool:
        """Whether each step stands behind the one before, and the first one behind ``previous``."""
        first, last = self.position(0), self.position(-1)
        if first is None or last is None:
            return True
        if not math.isfinite(sum((*first, *last))):
            return False
        if self.states("epoch"):
            epochs = self.column("epoch")
            if epochs != sorted(epochs):
                return False
        if self.states("step"):
            steps = self.column("step")
            return all(map(lt, steps, steps[1:])) and (previous is None or previous < first)
        return previous is None or previous <= first

    def step(self, index: int) -> Step:
        """One of the steps, which are counted from 0."""
        found = self._steps.get(index)
        if found is None:
            values = {name: self.value(name, index) for name in self._written}
            found = self._steps[index] = Step({**values, **self._constant}, self._number(index))
        return found

    def values(self) -> list[tuple[dict[str, float], int]]:
        """What the line of each step states, and its number."""
        names = tuple(self._written)
        columns = zip(*map(self.column, names), strict=True) if names else iter([()] * self.length)
        return [
            ({**dict(zip(names, row, strict=True)), **self._constant}, self._number(index))
            for index, row in enumerate(columns)
        ]

    def steps(self) -> list[Step]:
        """All of the steps, one by one."""
        if len(self._steps) < self.length:
            self._steps = {index: Step(*stated) for index, stated in enumerate(self.values())}
        return [self._steps[index] for index in range(self.length)]


def may_be_near(values: Sequence[float], far: float, count: int) -> bool:
    """Whether so many neighbours may all be near each other, none ``far`` from another; all of the values if less.

    Among ``count`` neighbours there are two of which one stands ``count // 2`` behind the other, at places that are
    multiples of that: so it is enough to look at such pairs, and at what is between those that are near each other.
    """
    stride = count // 2
    if len(values) <= count:
        return max(values) - min(values) <= far
    ends = values[::stride]
    if min(map(abs, map(sub, ends, ends[1:]))) > far:
        return False
    for index, one in enumerate(ends[:-1]):
        if abs(one - ends[index + 1]) <= far:
            between = values[index * stride : (index + 1) * stride + 1]
            if max(between) - min(between) <= far:
                return True
    return False
