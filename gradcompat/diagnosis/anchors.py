"""The words that a line must hold before a pattern can match it: what a large log is searched for.

Python's regular expressions try every alternative at every letter that one begins with, so a hundred patterns would
take minutes in a large log. Each pattern therefore gives pieces of its literal text; one expression looks for all of
them, each from a rare letter on; and the patterns themselves run only on the lines that hold one of their pieces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

# Digits and signs are taken out of lines and of pieces alike, so that lines that differ in numbers are one shape.
DELETED = b"0123456789.-+"

_SHORTEST = 4
_SPLIT = 16  # a literal this long gives two pieces: a terminal that wraps the line breaks only one
_LOOKED_FOR = 8  # letters of a piece that are looked for, from the chosen one on, where there are so many
_LEAST_LOOKED_FOR = 4
_CLASSES = frozenset("AbBdDsSwWZ")
_FLAGS = re.compile(r"\(\?([ims]+)\)")

# How many of a thousand characters of a log; what is missing is rare.
_FREQUENCY = {
    **dict.fromkeys(b" ", 120), **dict.fromkeys(b"e", 90), **dict.fromkeys(b"tsao", 50), **dict.fromkeys(b"nirl", 40),
    **dict.fromkeys(b"c,:pmd", 30), **dict.fromkeys(b"[]=gh", 20), **dict.fromkeys(b"u_/yf", 13),
    **dict.fromkeys(b"SPBLFOMbw'\"", 8), **dict.fromkeys(b"TANIRkvq(){}", 5), **dict.fromkeys(b"xzGCDE|#", 3),
}  # fmt: skip


def pieces(pattern: str) -> tuple[bytes, ...]:
    """Literal text of which a line must hold one piece to match the pattern; lower-case where it ignores case.

    >>> pieces(r"'NoneType' object has no attribute 'absmax'$")
    (b"'NoneType' object has", b" no attribute 'absmax'")

    Raises:
        ValueError: if the pattern has no literal text to look for.
    """
    found: list[bytes] = []
    for literals in _alternatives(pattern):
        longest = max((one.encode().translate(None, DELETED) for one in literals), key=len, default=b"")
        if len(longest) < _SHORTEST:
            raise ValueError(f"`{pattern}` has no literal text of {_SHORTEST} characters")
        middle = len(longest) // 2
        found += [longest[:middle], longest[middle:]] if len(longest) >= _SPLIT else [longest]
    if ignores_case(pattern):
        found = [one.lower() for one in found]
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


def any_of(exact: Collection[bytes], caseless: Collection[bytes]) -> re.Pattern[bytes]:
    """One expression that matches inside any of the pieces; it passes over text without any of their rare letters."""
    words = _from_rare_letters([(one, False) for one in sorted(exact)] + [(one, True) for one in sorted(caseless)])
    return re.compile(_alternation(words) if words else rb"(?!)")


def _from_rare_letters(pieces: Sequence[tuple[bytes, bool]]) -> list[_Word]:
    """A part of each piece, such that all begin with few and rare letters (a weighted cover, greedily)."""
    starts: dict[int, list[tuple[int, int]]] = {}
    for index, (piece, _) in enumerate(pieces):
        for position in range(max(1, len(piece) - _LEAST_LOOKED_FOR + 1)):
            starts.setdefault(piece[position], []).append((index, position))
    words: set[_Word] = set()
    remaining = set(range(len(pieces)))
    while remaining:
        cost = {
            letter: (_FREQUENCY.get(letter, 1)) / count
            for letter, places in starts.items()
            if (count := len({index for index, _ in places} & remaining))
        }
        letter = min(cost, key=lambda one: (cost[one], one))
        for index, position in starts.pop(letter):
            if index in remaining:
                remaining.remove(index)
                piece, caseless = pieces[index]
                part = piece[position : position + _LOOKED_FOR]
                words.update(_caseless(part) if caseless else [_each(part)])
    return sorted(words)


_Word = tuple[bytes, ...]  # an element is what one place may hold


def _each(literal: bytes) -> _Word:
    return tuple(re.escape(bytes([byte])) for byte in literal)


def _caseless(literal: bytes) -> list[_Word]:
    """Two words, since only an alternative that begins with one plain letter can be passed over quickly."""
    rest = tuple(_both(byte) for byte in literal[1:])
    first = bytes([literal[0]])
    return [(re.escape(one), *rest) for one in sorted({first.lower(), first.upper()})]


def _both(byte: int) -> bytes:
    char = bytes([byte])
    return b"[" + char.lower() + char.upper() + b"]" if char.isalpha() else re.escape(char)


def _alternation(words: Sequence[_Word]) -> bytes:
    """The words with common beginnings written once: a letter that none goes on with ends the attempt."""
    groups: dict[bytes, list[_Word]] = {}
    for word in words:
        groups.setdefault(word[0], []).append(word[1:])
    branches = []
    for first, tails in groups.items():
        if not all(tails):
            branches.append(first)  # a word ends here: what would follow no longer matters
        elif len(tails) == 1:
            branches.append(first + b"".join(tails[0]))
        else:
            branches.append(first + b"(?:" + _alternation(tails) + b")")
    return b"|".join(branches)
