"""Names by patterns with stars, as records and tables of files write them."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import accumulate

from gradcompat.startup.lazy_dataclasses import dataclass

_SIGNS = "*?["
_LAST = chr(sys.maxunicode)
_FEW = 8  # names that are looked through sooner than searched


def matches(name: str, pattern: str) -> bool:
    """:func:`fnmatch.fnmatchcase`, mostly without a regular expression: most patterns are asked once a run."""
    if "[" in pattern or "?" in pattern:
        last = pattern[max(map(pattern.rfind, "*?]")) + 1 :]
        return name.endswith(last) and fnmatchcase(name, pattern)
    if "*" not in pattern:
        return name == pattern
    first, *between, last = pattern.split("*")
    if not name.startswith(first) or len(name) < len(first) + len(last) or not name.endswith(last):
        return False
    position, end = len(first), len(name) - len(last)
    for part in between:
        position = name.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True


def any_matches(names: tuple[str, ...], patterns: Iterable[str]) -> bool:
    """Does one of the names match one of the patterns? A program has many names, and is asked for each record."""
    if len(names) <= _FEW:
        for pattern in patterns:
            for name in names:
                if matches(name, pattern):
                    return True
        return False
    prepared = _prepared(names)
    return any(_is_among(pattern, prepared) for pattern in patterns)


def matching(names: tuple[str, ...], patterns: Iterable[str]) -> frozenset[str]:
    """Those of the names that match one of the patterns."""
    prepared = _prepared(names)
    return frozenset(name for pattern in patterns for name in _perhaps(pattern, prepared) if matches(name, pattern))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The names of a program, without doubles, for many questions."""

    different: frozenset[str]
    in_order: list[str]
    text: str
    starts: list[int]

    def having(self, part: str) -> Iterator[str]:
        """The names in which a part stands."""
        place = self.text.find(part)
        while place >= 0:
            index = bisect_right(self.starts, place) - 1
            yield self.in_order[index]
            place = self.text.find(part, self.starts[index] + len(self.in_order[index]))


@lru_cache(maxsize=256)
def _prepared(names: tuple[str, ...]) -> _Prepared:
    in_order = sorted(set(names))
    starts = [0, *accumulate(len(name) + 1 for name in in_order[:-1])]
    return _Prepared(frozenset(names), in_order, "\n".join(in_order), starts)


def _is_among(pattern: str, prepared: _Prepared) -> bool:
    begin = pattern.removesuffix("*")
    if any(sign in begin for sign in _SIGNS):
        return any(matches(name, pattern) for name in _perhaps(pattern, prepared))
    if begin == pattern:
        return pattern in prepared.different
    place = bisect_left(prepared.in_order, begin)
    return place < len(prepared.in_order) and prepared.in_order[place].startswith(begin)


def _perhaps(pattern: str, prepared: _Prepared) -> Iterable[str]:
    """The names that begin as a pattern does, or have its longest part; none where a part of it stands in no name."""
    if not any(sign in pattern for sign in _SIGNS):
        return (pattern,) if pattern in prepared.different else ()
    begin = pattern[: min(place for sign in _SIGNS if (place := pattern.find(sign)) >= 0)]
    parts = pattern.split("*") if "?" not in pattern and "[" not in pattern else []
    if not all(part in prepared.text for part in parts):
        return ()
    longest = max(parts, key=len, default="")
    if longest and not begin:
        return prepared.having(longest)
    in_order = prepared.in_order
    return in_order[bisect_left(in_order, begin) : bisect_left(in_order, begin + _LAST)] if begin else in_order
