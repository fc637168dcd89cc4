"""What an option of a program means where a launch gives it: ``--grad-accum 4`` for ``TrainingArguments(…)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcompat.model.context import LaunchOption, OptionDefault, OptionTest
from gradcompat.model.environment import Setting
from gradcompat.scanners.code.calls import known
from gradcompat.scanners.configs.lightning_cli import INTERVAL, moment
from gradcompat.scanners.configs.model_names import model_settings
from gradcompat.scanners.configs.training_arguments import expanded, settled
from gradcompat.scanners.key_mapping import fed
from gradcompat.startup.lazy_dataclasses import replace

NEGATED = "no_"  # `--no-bf16` of argparse.BooleanOptionalAction, `--no_bf16` of HfArgumentParser


def given_option(option: OptionDefault | OptionTest, options: Sequence[LaunchOption]) -> LaunchOption | None:
    """The option as a launch gives it; None if it leaves it out.

    A file that stands alone, ``python train.py config/finetune.py``, may assign what it likes to names of the module.
    """
    found = option_among(option.flags, option.switched, options)
    if found is not None or not option.assigned:
        return found
    return next((replace(one, value=None) for one in options if not one.name), None)


def option_among(flags: Sequence[str], switched: bool | None, options: Sequence[LaunchOption]) -> LaunchOption | None:
    """The option of these names among those that a launch gives; None if it leaves it out."""
    by_name = {option.name: option for option in options}
    negated = tuple(f"{NEGATED}{flag}" for flag in flags) if switched is not None else ()
    return next((by_name[flag] for flag in (*flags, *negated) if flag in by_name), None)


def bare_value(flags: Sequence[str], switched: bool | None, name: str) -> bool | None:
    """What an option of these names sets that is given without a value; None where it is no switch."""
    return None if switched is None else switched == (name in flags)


def settings_of_option(option: OptionDefault, given: LaunchOption) -> list[Setting]:
    """The settings that an option makes where a launch gives it; without a value where that is not known."""
    if given.value is None and given.assumed is not None:
        told = settings_of_option(option, replace(given, value=given.assumed))
        return [replace(one, presumed=one.value is not None) for one in told]
    if option.loads and isinstance(given.value, str):
        return model_settings(given.value, given.location, task=option.task, spelling=given.spelling)
    one = known(option.tool) if option.tool else None
    value: Any = given.value
    if value is True:
        value = bare_value(option.flags, option.switched, given.name)
    if one is None or value is None:
        return [replace(stated, location=given.location) for stated in option.stated]
    if option.argument == INTERVAL:
        value = moment(str(value))
    named: list[tuple[str, Setting]] = []
    for name, inner in expanded(option.argument, value):
        spelling = given.spelling if name == option.argument else None
        settings, unread = fed(one.feeds, name, inner, given.location, spelling)
        if unread:
            return [replace(stated, location=given.location) for stated in option.stated]
        named += [(name, setting) for setting in settings]
    return settled(named)
