"""From a tool's own key and value to a setting of the vocabulary.

A scanner is above all a table ``{tool's key: Feed}``. A value that is not literal, or stands for "as the tool sees
fit" (``auto``), gives a setting without a value: it is set, and nobody here knows to what.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcompat.messages import NO_SUCH_VALUE
from gradcompat.model.environment import Location, Setting, SettingValue, Skipped
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.vocabulary import KEYS

# What tools write for "decide yourself".
_UNDECIDED = frozenset({"auto", "$auto"})
# What templates and shells put a value into: `${steps}`, `$STEPS`, `{{ steps }}`, `{% if … %}`, `$(nproc)`.
_COMPUTED = lazy_pattern(r"\$[{(A-Za-z_]|\{\{|\{%")
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_WRITTEN_NONE = "null"  # a None that is written out; elsewhere it says as little as a key that is not there
_NOTHING = _FALSE | {"", "none", "null"}


@dataclass(frozen=True, slots=True)
class Feed:
    """Where a tool's key goes.

    Attributes:
        key: the key of the vocabulary.
        values: what the tool's values mean there, by their text in lower case (``{"fa2": "flash_attention_2"}``), that
            of any list being ``[]`` and that of None ``null``; a value that is not listed is taken as it is. ``{}``
            takes every value as it is.
        only: values that are not in ``values`` say nothing about the key.
        given: what it says that there is a value at all, whichever it is (a path, a list of names), where it is not in
            ``values``; one that is empty or false says nothing then.
    """

    key: str
    values: Mapping[str, SettingValue | None] = field(default_factory=dict)
    only: bool = False
    given: SettingValue | None = None


Feeds = Mapping[str, "Feed | tuple[Feed, ...]"]

# The sizes of a group of processes that share one thing, as texts: 1 shares nothing.
SEVERAL = tuple(str(size) for size in range(2, 129))


def fed(
    feeds: Feeds, name: str, value: Any, location: Location, spelling: str | None = None
) -> tuple[list[Setting], list[Skipped]]:
    """The settings that one key of a tool states.

    Args:
        feeds: the tool's table.
        name: the tool's key, with dots between levels.
        value: its value as the format gives it: None, bool, int, float, str, or a list or mapping of such.
        location: where the value stands.
        spelling: the line with ``{}`` in the place of the value: ``gradient_accumulation_steps: {}``. A setting
            keeps it if the tool's value is the vocabulary's: ``disable_gradient_checkpointing: {}`` would mislead.

    Returns:
        The settings; and what was said in a way that nobody understands, which is a gap.
    """
    feed = feeds.get(name)
    if feed is None:
        return [], []
    settings: list[Setting] = []
    skipped: list[Skipped] = []
    for one in feed if isinstance(feed, tuple) else (feed,):
        if value is None:
            if _WRITTEN_NONE in one.values:
                settings.append(Setting(key=one.key, value=one.values[_WRITTEN_NONE], location=location))
            continue
        text = str(value).lower() if isinstance(value, (bool, int, float, str)) else None
        if isinstance(value, list) and value:
            text = "[]"
        spelled = None if one.only or one.given is not None else spelling
        if text is not None and text in one.values:
            converted, spelled = one.values[text], None
        elif text is not None and _COMPUTED.search(text):
            converted = None
        elif one.only:
            continue
        elif text in _UNDECIDED:
            converted = None
        elif one.given is not None:
            if not value or text in _NOTHING:
                continue
            converted = one.given
        else:
            try:
                converted = convert(one.key, value)
            except ValueError as error:
                skipped.append(Skipped(what=name, reason=str(error), location=location))
                continue
        settings.append(Setting(key=one.key, value=converted, location=location, spelling=spelled))
    return settings, skipped


def convert(key: str, value: Any) -> SettingValue:
    """A tool's value as the vocabulary's type has it: ``"2e-5"`` is a number, ``1.0`` a whole one.

    Raises:
        ValueError: if it is of another type.
    """
    wanted = KEYS[key].type
    match wanted, value:
        case "bool", bool():
            return value
        case "bool", int() | str() if str(value).lower() in _TRUE | _FALSE:
            return str(value).lower() in _TRUE
        case "int", int() | float() | str() if not isinstance(value, bool):
            number = _number(value)
            if number is not None and number == int(number):
                return int(number)
        case "float", int() | float() | str() if not isinstance(value, bool):
            number = _number(value)
            if number is not None:
                return number
        case "str" | "version", str() | int() | float():
            return str(value).lower() if isinstance(value, bool) else str(value)
        case "list", str():
            return (value,)
        case "list", list() if all(isinstance(one, str) for one in value):
            return tuple(value)
    raise ValueError(f"{NO_SUCH_VALUE} {key} takes, which is of type {wanted}")


def _number(value: int | float | str) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if number - number == 0 else None  # neither infinite nor not a number
