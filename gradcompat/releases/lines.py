"""The lines of a table: of one module, the runs of each of its keys; keys with the same runs stand together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import JSONDecoder
from typing import Any

from gradcompat.releases.runs import Run

Line = dict[str, list[Run]]


def packed(line: Mapping[str, list[Run]]) -> list[list[object]]:
    """A line as the file has it.

    >>> packed({"a": [(0, 1)], "b": [(0, 1)], "c": [(3, 1), (5, None)]})
    [['a b', 0, 1], ['c', 3, 1, 5, None]]
    """
    groups: dict[tuple[Run, ...], list[str]] = {}
    for key in sorted(line):
        groups.setdefault(tuple(line[key]), []).append(key)
    return [[" ".join(keys), *(part for run in runs for part in run)] for runs, keys in groups.items()]


def unpacked(groups: list[list[Any]]) -> Line:
    """What :func:`packed` made of a line."""
    return {key: runs for keys, runs in grouped(groups) for key in keys}


def grouped(groups: list[list[Any]]) -> Iterator[tuple[list[str], list[Run]]]:
    """The same, with the keys that stand together."""
    for keys, *parts in groups:
        yield keys.split(" "), list(zip(parts[::2], parts[1::2], strict=True))


def runs_in(text: str, key: str) -> list[Run] | None:
    """The runs of one key in the text of a line, without decoding the others; None where it is not there.

    >>> runs_in('[["a b",0,">c d"],["d",1,1,3,null]]', "d")
    [(1, 1), (3, None)]
    """
    at = text.find(key)
    while at >= 0:
        behind = at + len(key)
        # A group begins with its keys; what looks like one may be in a value.
        if text[at - 1] in ' "' and text[behind] in ' "' and text.find('"', text.rfind('["', 0, at) + 2) >= behind:
            _, *parts = _DECODER.raw_decode(text, text.rfind('["', 0, at))[0]
            return list(zip(parts[::2], parts[1::2], strict=True))
        at = text.find(key, behind)
    return None


_DECODER = JSONDecoder()
