"""Whether values satisfy the terms of a record."""

from __future__ import annotations

from gradcompat.model.environment import SettingValue
from gradcompat.model.issue import SettingTerm
from gradcompat.terms.name_patterns import any_matches, matches
from gradcompat.truth import Truth


def texts(value: SettingValue | None) -> tuple[str, ...]:
    """The texts of a value, which may be a list; none of one that is not known."""
    return value if isinstance(value, tuple) else () if value is None else (str(value),)


def named(patterns: tuple[str, ...], value: SettingValue) -> Truth:
    """Is any of the names among those that are wanted?"""
    return Truth.of(any_matches(texts(value), patterns))


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
