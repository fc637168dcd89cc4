"""Whether values satisfy the terms of a record."""

from __future__ import annotations

from fnmatch import fnmatchcase

from gradcompat.model.environment import SettingValue
from gradcompat.model.issue import SettingTerm
from gradcompat.truth import Truth


def named(patterns: tuple[str, ...], value: SettingValue) -> Truth:
    """Is any of the names among those that are wanted?"""
    given = value if isinstance(value, tuple) else (str(value),)
    return Truth.of(any(matches(name, pattern) for name in given for pattern in patterns))


def matches(name: str, pattern: str) -> bool:
    """:func:`fnmatch.fnmatchcase`, without a regular expression for stars alone: most patterns are asked once a run."""
    if "[" in pattern or "?" in pattern:
        return fnmatchcase(name, pattern)
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


def satisfies(term: SettingTerm, value: SettingValue) -> Truth:
    """Is the value one that the term asks for? A value that cannot be ordered decides no comparison."""
    if term.comparison is not None:
        return _ordered(*term.comparison, value)
    given = value if isinstance(value, tuple) else (value,)
    return Truth.of(any(_equal(wanted, element) for wanted in term.values for element in given))


def _equal(wanted: bool | int | float | str, given: bool | int | float | str) -> bool:
    if isinstance(wanted, bool) or isinstance(given, bool):
        return wanted is given
    if isinstance(wanted, str) and isinstance(given, str):
        return matches(given.lower(), wanted.lower())
    return wanted == given


def _ordered(operator: str, wanted: int | float | str, value: SettingValue) -> Truth:
    """Compare numbers; anything else cannot be ordered, so nothing is known."""
    if operator == "!=":
        given = value if isinstance(value, tuple) else (value,)
        return Truth.of(not any(_equal(wanted, element) for element in given))
    if isinstance(value, (bool, str, tuple)) or isinstance(wanted, str):
        return Truth.UNKNOWN
    match operator:
        case ">":
            return Truth.of(value > wanted)
        case ">=":
            return Truth.of(value >= wanted)
        case "<":
            return Truth.of(value < wanted)
        case _:
            return Truth.of(value <= wanted)
