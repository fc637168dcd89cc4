"""The calls of a program with the options that its launches give in the places of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import cast

from gradcompat.calls import Call, OptionValue, Unread, Value, read_call
from gradcompat.lazy_dataclasses import replace
from gradcompat.model.context import LaunchOption
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.launch_options import option_among
from gradcompat.symbol_patterns import CALLS_KEY, has_options

_Launches = Sequence[Sequence[LaunchOption] | None]


def with_launches(setting: Setting, launches: _Launches) -> Setting:
    """The calls as they are in the launches of a run; without a launch their defaults are left to be presumed.

    An option that no launch gives has its default, which is a fact then. Where a launch is not known nothing is known
    of its options.
    """
    if setting.key != CALLS_KEY or not isinstance(setting.value, tuple) or not launches:
        return setting
    told: dict[str, Location] = {}
    for index, line in enumerate(map(str, setting.value)):
        call = read_call(line) if has_options(line) else None
        for options in launches:
            launched = line if call is None else str(_launched(call, options))
            told.setdefault(launched, setting.place(index))
    return replace(setting, value=tuple(told), places=tuple(told.values()))


def _launched(call: Call, options: Sequence[LaunchOption] | None) -> Call:
    unread = {option: f"_given_{number}" for number, option in enumerate(dict.fromkeys(call.options))}

    def value_of(option: OptionValue) -> Value:
        given = None if options is None else option_among(option.flags, option.switched, options)
        if options is not None and given is None:
            return option.default
        value = None if given is None else _value(given, option)
        return Unread(unread[option]) if value is None else value

    return call.with_options(value_of)


def _value(given: LaunchOption, option: OptionValue) -> Value:
    """What a launch gives, as the program gets it; None where that is not known."""
    if given.value is True:
        return None if option.switched is None else option.switched != (given.name not in option.flags)
    try:
        read = ast.literal_eval(str(given.value)) if given.value is not None else None
    except (ValueError, SyntaxError):
        read = given.value
    return cast("Value", read if isinstance(read, (bool, int, float)) else given.value)
