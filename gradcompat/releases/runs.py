"""Values along a package's releases, written where they change.

A release is its number in the sorted list of releases that were read. What has a value in each release is its *runs*:
the numbers at which the value changes, each with the value from there on, None for none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

Value = str | int
Run = tuple[int, Value | None]


class Growing:
    """Runs that are made release by release."""

    __slots__ = ("_last", "_runs")

    def __init__(self) -> None:
        """No value in any release."""
        self._runs: list[Run] = []
        self._last = -1

    def add(self, number: int, value: Value) -> None:
        """Give a release its value; quick behind the last one that has a value."""
        if number <= self._last:
            values = values_of(self._runs, self._last + 1)
            values[number] = value
            self._runs = runs_of(values, self._last + 1)
            return
        if number > self._last + 1 and self._runs:
            self._runs.append((self._last + 1, None))
        if not self._runs or self._runs[-1][1] != value:
            self._runs.append((number, value))
        self._last = number

    def runs(self, count: int) -> list[Run]:
        """The runs of so many releases."""
        return self._runs if not self._runs or self._last + 1 == count else [*self._runs, (self._last + 1, None)]


def runs_of_spans(spans: Iterable[tuple[int, int, Value]], count: int) -> list[Run]:
    """The runs of values that stretches of releases have.

    Args:
        spans: the first number of each, the one behind its last, and the value; none overlaps another.
        count: how many releases there are.

    >>> runs_of_spans([(3, 4, "b"), (0, 1, "a"), (1, 2, "a")], 4)
    [(0, 'a'), (2, None), (3, 'b')]
    """
    found: list[Run] = []
    last: Value | None = None
    behind = 0
    for start, end, value in sorted(spans):
        if start > behind and last is not None:
            found.append((behind, None))
            last = None
        if value != last:
            found.append((start, value))
            last = value
        behind = end
    if behind < count and last is not None:
        found.append((behind, None))
    return found


def runs_of(values: Mapping[int, Value], count: int) -> list[Run]:
    """The runs of values by release number.

    Args:
        values: by number; a number without value has none.
        count: how many releases there are.

    >>> runs_of({1: "a", 2: "a", 4: "b"}, 5)
    [(1, 'a'), (3, None), (4, 'b')]
    """
    found: list[Run] = []
    last: Value | None = None
    following = 0
    for number in sorted(values):
        if number > following and last is not None:
            found.append((following, None))
            last = None
        if values[number] != last:
            last = values[number]
            found.append((number, last))
        following = number + 1
    if following < count and last is not None:
        found.append((following, None))
    return found


def value_at(runs: Sequence[Run], number: int) -> Value | None:
    """The value in a release, None for none."""
    at = bisect_right(runs, number, key=_start)
    return runs[at - 1][1] if at else None


def stretches(runs: Sequence[Run], count: int) -> Iterator[tuple[int, int, Value]]:
    """Each stretch of releases with one value: its first number, the one behind its last, and the value."""
    for number, (start, value) in enumerate(runs, 1):
        end = runs[number][0] if number < len(runs) else count
        if value is not None:
            yield start, end, value


def values_of(runs: Sequence[Run], count: int) -> dict[int, Value]:
    """The values by release number."""
    return {number: value for start, end, value in stretches(runs, count) for number in range(start, end)}


def _start(run: Run) -> int:
    return run[0]
