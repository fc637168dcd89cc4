"""The lines of a table: of one module, the runs of each of its keys; keys with the same runs stand together."""

from __future__ import annotations

from collections.abc import Mapping
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
    found: Line = {}
    for keys, *parts in groups:
        runs = list(zip(parts[::2], parts[1::2], strict=True))
        for key in keys.split(" "):
            found[key] = runs
    return found
