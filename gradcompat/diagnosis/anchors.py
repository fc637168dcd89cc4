"""The words that a line must hold before a pattern can match it: what a large log is searched for.

Python's regular expressions try every alternative at every letter that one begins with, so a hundred patterns would
take minutes in a large log. Each pattern therefore gives pieces of its literal text; an Aho-Corasick automaton, whose
time does not grow with their number, looks for all of them at once; and the patterns themselves run only on the lines
that hold one of their pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ahocorasick_rs import BytesAhoCorasick, Implementation

from gradcompat.startup.lazy_patterns import lazy_pattern

_SHORTEST = 4
_SPLIT = 18  # a literal this long gives two pieces: a terminal that wraps the line breaks only one
_CLASSES = frozenset("AbBdDsSwWZ")
_FLAGS = lazy_pattern(r"\(\?([ims]+)\)")


def pieces(pattern: str) -> tuple[bytes, ...]:
    """Literal text of which a line must hold one piece to match the pattern; lower-case where it ignores case.

    >>> pieces(r"'NoneType' object has no attribute 'absmax'$")
    (b"'NoneType' object has", b" no attribute 'absmax'")

    Raises:
        ValueError: if the pattern has no literal text to look for.
    """
    found: list[bytes] = []
    for literals in _alternatives(pattern):
        longest = max((literal.encode() for literal in literals), key=len, default=b"")
        if len(longest) < _SHORTEST:
            raise ValueError(f"`{pattern}` has no literal text of {_SHORTEST} characters")
        middle = len(longest) // 2
        found += [longest[:middle], longest[middle:]] if len(longest) >= _SPLIT else [longest]
    if ignores_case(pattern):
        found = [hit.lower() for hit in found]
    return tuple(dict.fromkeys(found))


def ignores_case(pattern: str) -> bool:
    """Is ``(?i)`` at its front?"""
    flags = _FLAGS.match(pattern)
    return flags is not None and "i" in flags[1]


def _alternatives(pattern: str) -> list[list[str]]:
    """For each alternative of the whole pattern, the pieces of text that it cannot match without.

    What stands in a group, in a class or before a quantifier that allows none is no such piece. A slash ends a piece,
    since Windows writes another.
    """
    flags = _FLAGS.match(pattern)
    position = flags.end() if flags else 0
    alternatives: list[list[str]] = [[]]
    piece = ""
    depth = 0

    def end() -> None:
        nonlocal piece
        if piece:
            alternatives[-1].append(piece)
        piece = ""

    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "\\" and position < len(pattern):
            char = pattern[position]
            position += 1
            if char in _CLASSES or char.isdigit() or char in "nrtfvxuN/":
                end()
            elif depth == 0:
                piece += char
        elif char == "[":
            end()
            position = _behind_class(pattern, position)
        elif char == "(":
            end()
            depth += 1
        elif char == ")":
            end()
            depth -= 1
        elif char in "?*{":
            if depth == 0 and pattern[position - 2 : position - 1] not in (")", "]"):
                piece = piece[:-1]
            end()
            if char == "{":
                position = pattern.find("}", position) + 1 or len(pattern)
        elif char == "|" and depth == 0:
            end()
            alternatives.append([])
        elif char in ".^$+|/":
            end()
        elif depth == 0:
            piece += char
    end()
    return alternatives


def _behind_class(pattern: str, position: int) -> int:
    position += pattern.startswith("^", position)
    position += pattern.startswith("]", position)
    while position < len(pattern) and pattern[position] != "]":
        position += 2 if pattern[position] == "\\" else 1
    return position + 1


class Anchors:
    """Pieces of text that are looked for all at once, each with its marks: bits for what it may mean.

    Args:
        exact: the marks of pieces that are meant as they are written.
        caseless: the marks of pieces, in lower case, that are meant in either case.
    """

    def __init__(self, exact: Mapping[bytes, int], caseless: Mapping[bytes, int]) -> None:
        written: dict[bytes, dict[bytes, int]] = {}
        for one, mark in exact.items():
            written.setdefault(one.lower(), {})[one] = mark
        pieces = sorted(written.keys() | caseless.keys())
        # In lower case one automaton finds all of them. What the text itself holds at that place is then compared.
        self._marks = [(caseless.get(piece, 0), written.get(piece, {})) for piece in pieces]
        self._marks_of = dict(zip(pieces, self._marks, strict=True))
        # Without patterns, the table of a DFA cannot be built.
        self._automaton = BytesAhoCorasick(pieces, implementation=Implementation.DFA) if pieces else None

    def possible(self, text: bytes, free: bytes) -> int:
        """The marks of all pieces that a text may hold if other bytes of ``free`` may stand for those that it has.

        What a piece has of other bytes, it has between two of these or at its ends.

        Args:
            text: the text, in lower case.
            free: these bytes.
        """
        split = re.compile(rb"[%s]+" % re.escape(free.lower()))
        marks = 0
        for piece, (caseless, exact) in self._marks_of.items():
            if all(part in text for part in split.split(piece)):
                marks |= caseless
                for mark in exact.values():
                    marks |= mark
        return marks

    def lines(self, text: bytes) -> Iterator[tuple[int, int, int]]:
        r"""Where the lines of a text that hold a piece begin and end, with the marks of all that they hold.

        Only ``\n`` ends a line.
        """
        if self._automaton is None:
            return
        start, end, marks = 0, -1, 0
        # Overlapping, as a piece in the wrong case may hide one in the right case. They come in order of their ends.
        for index, first, last in self._automaton.find_matches_as_indexes(text.lower(), overlapping=True):
            found, exact = self._marks[index]
            if exact:
                found |= exact.get(text[first:last], 0)
            if not found:
                continue
            if first < end:
                marks |= found
                continue
            if marks:
                yield start, end, marks
            start = text.rfind(b"\n", max(end, 0), first) + 1 or max(end, 0)
            end = text.find(b"\n", last)
            end = len(text) if end < 0 else end
            marks = found
        if marks:
            yield start, end, marks
