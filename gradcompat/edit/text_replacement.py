"""Pieces of a text replaced by others, all at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Replacement(NamedTuple):
    """What stands between two offsets becomes something else."""

    start: int
    end: int
    new: str


def replaced(text: str, replacements: Iterable[Replacement]) -> str:
    """The text with these pieces replaced; they do not overlap."""
    pieces: list[str] = []
    position = 0
    for start, end, new in sorted(replacements):
        pieces += [text[position:start], new]
        position = end
    return "".join([*pieces, text[position:]])
