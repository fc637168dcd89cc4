"""Names by patterns with stars, as records and tables of files write them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

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
    different, in_order = _prepared(names)
    return any(_is_among(pattern, different, in_order) for pattern in patterns)


def _is_among(pattern: str, different: frozenset[str], in_order: list[str]) -> bool:
    begin = pattern.removesuffix("*")
    if any(sign in begin for sign in "*?["):
        return any(matches(name, pattern) for name in in_order)
    if begin == pattern:
        return pattern in different
    place = bisect_left(in_order, begin)
    return place < len(in_order) and in_order[place].startswith(begin)


@lru_cache(maxsize=256)
def _prepared(names: tuple[str, ...]) -> tuple[frozenset[str], list[str]]:
    different = frozenset(names)
    return different, sorted(different)
