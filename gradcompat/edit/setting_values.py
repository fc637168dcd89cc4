"""One setting that is to change, and how its values are written in the words of the file that states it.

A value keeps the style of the one that it replaces: ``yes`` becomes ``no`` and ``True`` becomes ``False``, a whole
number stays one, what was quoted stays quoted.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gradcompat.errors import EditError
from gradcompat.model.environment import Location, SettingValue
from gradcompat.vocabulary import KEYS

_BOOLEANS = (
    *(("true", "false"), ("True", "False"), ("TRUE", "FALSE")),
    *(("yes", "no"), ("Yes", "No"), ("YES", "NO")),
    *(("on", "off"), ("On", "Off"), ("ON", "OFF"), ("1", "0")),
)
_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEdit:
    """One setting takes another value.

    Attributes:
        key: in the vocabulary.
        old: the value that was found; None where it is set to something that is not literal.
        new: the value that it has to have.
        location: where the old value stands, as the scanner of the file gives it.
        spelling: the line with ``{}`` in the place of the value; None where the file says it in other words.
    """

    key: str
    old: SettingValue | None
    new: SettingValue
    location: Location
    spelling: str | None


@dataclass(frozen=True, slots=True)
class Replacement:
    """The characters from ``start`` to ``end`` give way to a text."""

    start: int
    end: int
    text: str


def means(text: str, value: SettingValue | None) -> bool:
    """Whether a text, without its quotes, is the value as scanners take it; nobody knows what is not literal."""
    match value:
        case None:
            return False
        case bool():
            return any(text == pair[0 if value else 1] for pair in _BOOLEANS)
        case int() | float():
            return _number(text) == value
        case tuple():
            return value == (text,)
    return text == value


def written(change: SettingEdit, old: str) -> str:
    """The new value as bare text, in the style of the old one.

    Raises:
        ValueError: if it is a list, which has no one word.
    """
    match change.new:
        case bool():
            pair = next((pair for pair in _BOOLEANS if old in pair), _BOOLEANS[0])
            return pair[0 if change.new else 1]
        case int() | float():
            return _numeral(change.key, change.new, old)
        case tuple():
            if len(change.new) != 1:
                raise ValueError(change.new)
            return change.new[0]
    return change.new


def refused(change: SettingEdit, reason: str, shown: str, *, by_hand: str | None = None) -> EditError:
    """The error for a change that somebody has to make by hand.

    Args:
        change: the change.
        reason: why it is not made.
        shown: how the file is called.
        by_hand: what to do, where it is not to write the spelling with the new value.
    """
    if by_hand is None and change.spelling is not None:
        of_python = shown.endswith((".py", ".ipynb"))
        of_json = change.spelling.startswith('"') and isinstance(change.new, (str, tuple))
        value = repr(change.new) if of_python else json.dumps(change.new) if of_json else _plain(change.new)
        by_hand = f"write `{change.spelling.replace('{}', value)}` there by hand"
    by_hand = by_hand or f"set `{change.key}` to `{_plain(change.new)}` by hand"
    return EditError(f"{reason}: {by_hand}", path=shown, line=change.location.line)


def not_there(change: SettingEdit, found: str, shown: str) -> EditError:
    """The error for a place where something else stands than what the scanner has found."""
    found = found if len(found) <= _LONGEST_SHOWN else f"{found[: _LONGEST_SHOWN - 1]}…"
    if change.old is None:
        return refused(change, f"`{found}` is put together elsewhere", shown)
    # Then its own words mean something else, and nobody knows which of them to write.
    by_hand = f"set `{change.key}` to `{_plain(change.new)}` by hand"
    return refused(change, f"says `{found}`, not `{_plain(change.old)}`", shown, by_hand=by_hand)


def offset_of(text: str, location: Location) -> int | None:
    """The offset of a line and column, where lines end with a line feed; None if there is no such place."""
    if location.line is None or location.column is None:
        return None
    start = 0
    for _ in range(location.line - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return None
    offset = start + location.column - 1
    return offset if offset < len(text) and "\n" not in text[start:offset] else None


def _plain(value: SettingValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return ", ".join(value)
    return str(value)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except (ValueError, OverflowError):
        return None


def _numeral(key: str, value: float, old: str) -> str:
    known = KEYS.get(key)
    number = _number(old)
    as_whole = isinstance(value, int) if number is None else not re.search(r"[.eE]", old)
    if float(value).is_integer() and (as_whole or (known is not None and known.type == "int")):
        return str(int(value))
    text = repr(float(value))
    # YAML 1.1 takes `1e-05` for a word.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
