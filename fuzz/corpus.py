"""Inputs that showed something new, kept on disk: each for the arcs that no input before it took."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from fuzz.findings import write
from fuzz.inputs import Input, loads
from fuzz.tracing import Arc

_MOST_TRIALS = 12  # of an input that is made smaller before it is kept


class Corpus:
    """The kept inputs, numbered in the order in which they were found; one is never changed or taken away again.

    So a number of inputs, and with it an input that was made of them, means the same at any later time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._arcs = folder.parent / "arcs.json"
        self.arcs: set[Arc] = set()
        if self._arcs.exists():
            self.arcs = {(module, before, after) for module, before, after in json.loads(self._arcs.read_text("utf-8"))}
        self.size = len(list(folder.glob("*.json")))

    def keep(self, one: Input, arcs: set[Arc]) -> bool:
        """Keep an input if it takes an arc that is new."""
        if arcs <= self.arcs:
            return False
        write(self._file(self.size), one.dumps())
        self.arcs |= arcs
        self.size += 1
        return True

    def save(self) -> None:
        """Write down which arcs are known."""
        write(self._arcs, json.dumps(sorted(self.arcs)))

    def first(self, count: int) -> list[Callable[[], Input]]:
        """The first inputs, each read when it is wanted."""
        return [partial(_kept, self._file(number)) for number in range(count)]

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"


@lru_cache(maxsize=4096)
def _kept(file: Path) -> Input:
    return loads(file.read_text("utf-8"))


def reduced(one: Input, still: Callable[[Input], bool], trials: int = _MOST_TRIALS) -> Input:
    """A smaller input of which the same is true: fewer files, fewer lines, shorter lines.

    Args:
        one: the input.
        still: says whether it is true of an input.
        trials: how often that may be asked.
    """
    trying = _Trials(still, trials)
    for at in range(len(one.entries) - 1, 0, -1):
        fewer = replace(one, entries=(*one.entries[:at], *one.entries[at + 1 :]))
        if trying.holds(fewer):
            one = fewer
    for at in range(len(one.entries)):
        for separator in (b"\n", b""):
            one = _shortened(one, at, separator, trying)
    return one


@dataclass(slots=True)
class _Trials:
    """A question about inputs that may be asked so often."""

    still: Callable[[Input], bool]
    left: int

    def holds(self, one: Input) -> bool:
        self.left -= 1
        return self.left >= 0 and self.still(one)


def _shortened(one: Input, at: int, separator: bytes, trying: _Trials) -> Input:
    """Leave out halves, quarters … of the pieces of one file, as long as it is still true."""
    if one.entries[at].kind != "file" or trying.left <= 0:
        return one
    data = one.entries[at].data
    pieces = data.split(separator) if separator else [data[place : place + 1] for place in range(len(data))]
    width = len(pieces)
    while width > 1 and trying.left > 0:
        width = (width + 1) // 2
        start = 0
        while start < len(pieces) > 1 and trying.left > 0:
            fewer = pieces[:start] + pieces[start + width :]
            entry = replace(one.entries[at], data=separator.join(fewer))
            other = replace(one, entries=(*one.entries[:at], entry, *one.entries[at + 1 :]))
            if trying.holds(other):
                one, pieces = other, fewer
            else:
                start += width
    return one
