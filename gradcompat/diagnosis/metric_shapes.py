"""Lines of metrics in large numbers: what a line states stands where it stood in one that differs in digits alone.

The parser of :mod:`metrics` takes some 10 to 40 microseconds for a line, and a log may hold millions of them. But it
tells digits from other characters and not from each other (but for ``nan.0`` and rates of ``0.000``). The *shape* of a
line is the line with zeros for all its digits: lines of one shape have their values at the same places. Where these are
is learnt from the parser, which reads lines of that shape that were made for the purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from gradcompat.diagnosis.lines import cleaned
from gradcompat.diagnosis.metrics import parse_line
from gradcompat.startup.lazy_patterns import lazy_pattern

_MOST_SHAPES = 20_000
_MOST_BYTES = 8 << 20
_LONGEST = 2_000

_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_NUMBER = lazy_pattern(rb"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ROUNDED = lazy_pattern(rb"0\.00+")
_CODED = 3  # lines that tell 729 numbers from each other
_PROBES = 6
_MOST_FACTORS = 12  # whole numbers of a line among which those that make its step are looked for


@dataclass(frozen=True, slots=True)
class Places:
    """Where the lines of a shape have their values.

    Attributes:
        values: the names and places of those that are written there.
        constant: those that are not written in digits.
        step: places of the epoch, of the number of its steps and of the step in it, and whether the first epoch is 1,
            where the step of the run is made of these.
        rate: the place of a learning rate of so few digits that zero means nothing.
    """

    values: tuple[tuple[str, slice], ...]
    constant: Mapping[str, float]
    step: tuple[slice, slice, slice, int] | None
    rate: slice | None

    def read(self, line: bytes) -> dict[str, float] | None:
        """What the line states, or None if the parser has to tell."""
        if self.rate is not None and not float(line[self.rate]):
            return None
        result = {name: float(line[place]) for name, place in self.values}
        if self.constant:
            result.update(self.constant)
        if self.step is not None:
            epoch, length, place, first = self.step
            result["step"] = float((int(line[epoch]) - first) * int(line[length]) + int(line[place]))
        return result


class MetricLines:
    """Reads lines of metrics, and keeps what it learns of their shapes."""

    def __init__(self) -> None:
        self._learnt: dict[bytes, Places] = {}
        self._empty: set[bytes] = set()  # shapes that state no metrics
        self._met: dict[bytes, bool] = {}  # those met once, and whether there is no use in learning them
        self._bytes = 0

    def parse(self, line: bytes) -> dict[str, float] | None:
        """What :func:`parse_line` says of the line."""
        shape = line.translate(_ZEROS)
        places = self._learnt.get(shape)
        if places is not None:
            values = places.read(line)
            return parse_line(cleaned(line)) if values is None else values
        if shape in self._empty:
            return None
        values = parse_line(cleaned(line))
        if len(line) <= _LONGEST:
            self._meet(shape, line, values)
        return values

    def _meet(self, shape: bytes, line: bytes, values: dict[str, float] | None) -> None:
        if shape not in self._met:
            self._make_room(len(shape))
            self._met[shape] = b"nan.0" in shape
        elif not self._met[shape]:
            self._met[shape] = True
            self._make_room(len(shape))
            learnt = _learn(shape)
            if learnt is _EMPTY and values is None:
                self._empty.add(shape)
            elif learnt is not None and learnt is not _EMPTY and agree(learnt.read(line) or values, values):
                self._learnt[shape] = learnt

    def _make_room(self, size: int) -> None:
        if len(self._met) >= _MOST_SHAPES or self._bytes > _MOST_BYTES:
            self._learnt, self._empty, self._met, self._bytes = {}, set(), {}, 0
        self._bytes += size


_EMPTY = Places((), {}, None, None)


def learn(line: bytes) -> Places | None:
    """Where lines that differ from it in digits have their values; None if they state none, or if it cannot be said."""
    learnt = _learn(line.translate(_ZEROS))
    return None if learnt is _EMPTY else learnt


def _learn(shape: bytes) -> Places | None:
    """Where lines of that shape have their values, ``_EMPTY`` if they state none, and None if it cannot be said."""
    numbers = [match.span() for match in _NUMBER.finditer(shape)]
    lines = [_with_digits(shape, numbers, probe) for probe in range(_PROBES)]
    stated = [one for one in map(parse_line, map(cleaned, lines)) if one is not None]
    if not stated:
        return _EMPTY
    if len(stated) < len(lines) or any(one.keys() != stated[0].keys() for one in stated):
        return None
    negative = [(start - 1, end) for start, end in numbers if shape[start - 1 : start] == b"-"]
    places = [slice(*span) for span in (*numbers, *negative)]
    values: dict[str, slice] = {}
    constant: dict[str, float] = {}
    step = None
    for name, value in stated[0].items():
        wanted = [one[name] for one in stated]
        found = [place for place in places if [float(line[place]) for line in lines] == wanted]
        if len(found) == 1:
            values[name] = found[0]
        elif len({repr(one) for one in wanted}) == 1:
            constant[name] = value
        elif name == "step":
            step = _computed_step(lines, [place for place in places if shape[place].isdigit()], wanted)
    rate = values.get("learning_rate")
    learnt = Places(
        values=tuple(values.items()),
        constant=constant,
        step=step,
        rate=rate if rate is not None and _ROUNDED.fullmatch(shape[rate]) else None,
    )
    return learnt if all(agree(learnt.read(line), one) for line, one in zip(lines, stated, strict=True)) else None


def _computed_step(
    lines: Sequence[bytes], places: Sequence[slice], wanted: Sequence[float]
) -> tuple[slice, slice, slice, int] | None:
    """Which numbers make the step, if it is that of an epoch and the steps of those before."""
    numbers = [[int(line[place]) for line in lines] for place in places[:_MOST_FACTORS]]
    for chosen in permutations(range(len(numbers)), 3):
        of_lines = list(zip(*(numbers[index] for index in chosen), strict=True))
        for first in (0, 1):
            if all(
                (epoch - first) * length + place == step
                for (epoch, length, place), step in zip(of_lines, wanted, strict=True)
            ):
                epoch, length, place = (places[index] for index in chosen)
                return epoch, length, place, first
    return None


def _with_digits(shape: bytes, numbers: Sequence[tuple[int, int]], probe: int) -> bytes:
    """A line of the shape. No two of its numbers have the same digits in all of the first three of such lines."""
    line = bytearray(shape)
    for index, (start, end) in enumerate(numbers):
        digit = index // 9**probe if probe < _CODED else (index + 1) * (probe + 2) + index * index
        line[start:end] = shape[start:end].replace(b"0", b"%d" % (digit % 9 + 1))
    return bytes(line)


def agree(one: Mapping[str, float] | None, other: Mapping[str, float] | None) -> bool:
    """Are they the same, with nan taken for equal to itself?"""
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(repr(value) == repr(other[name]) for name, value in one.items())
