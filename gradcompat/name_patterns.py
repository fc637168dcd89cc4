"""Names by patterns with stars, as records and tables of files write them."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matches(name: str, pattern: str) -> bool:
    """:func:`fnmatch.fnmatchcase`, mostly without a regular expression: most patterns are asked once a run."""
    if "[" in pattern or "?" in pattern:
        last = pattern[max(map(pattern.rfind, "*?]")) + 1 :]
        return name.endswith(last) and fnmatchcase(name, pattern)
    first, *others = pattern.split("*")
    if not others:
        return name == pattern
    *between, last = others
    if not name.startswith(first) or len(name) < len(first) + len(last) or not name.endswith(last):
        return False
    position, end = len(first), len(name) - len(last)
    for part in between:
        position = name.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True
