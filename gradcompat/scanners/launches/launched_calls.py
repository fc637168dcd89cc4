"""The calls of a program with the options that its launches give in the places of their arguments.

A parser of dataclasses calls them with what the command says: ``HfArgumentParser(TrainingArguments)`` makes
``TrainingArguments(data_seed=7)`` of ``--data_seed 7``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from gradcompat.model.context import Context, DataclassParser, LaunchOption
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.code.call_lines import SECRET, is_word
from gradcompat.scanners.launches.launch_options import NEGATED, bare_value, option_among
from gradcompat.scanners.launches.parsed_options import only_file, parser_of_tool
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.calls import Call, OptionValue, Unread, Value, read_call
from gradcompat.terms.symbol_patterns import CALLS_KEY, has_options

_CONFIG = "config"
_MOST_OWN = 100  # fields of a project's own that a line has

_Launches = Sequence[Sequence[LaunchOption] | None]


def with_launches(setting: Setting, launches: _Launches) -> Setting:
    """The calls as they are in the launches of a run; without a launch their defaults are left to be presumed.

    An option that no launch gives has its default, which is a fact then, or is None without one. Where a launch is not
    known nothing is known of its options.
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


def parsed_calls(
    parsers: Sequence[DataclassParser], launches: _Launches, configs: Sequence[Context] = ()
) -> list[Setting]:
    """How parsers call the dataclasses of other packages in the launches of a run, or with the one file they are given.

    A field of the project's own that the command leaves out has a default that is not read here.

    Args:
        parsers: of a program.
        launches: the options of each.
        configs: the files of the run whose keys are the fields of dataclasses.
    """
    told: dict[str, Location] = {}
    for parser in parsers:
        config = only_file(parser.files[0], configs) if len(parser.files) == 1 and not parser.keys else None
        if config is not None and not parser.reads_argument:
            named = dict(_fields(config.keys))
            for name in parser.classes:
                told.setdefault(str(Call(name, (), {**_left(parser, named), **named}, True)), config.keys[0].location)
    for options in launches:
        for parser in parsers if options else ():
            named = dict(_fields(options or ()))
            config = _file_of(options or (), configs) if parser.reads_config else None
            if config is not None:
                named = {**dict(_fields(config.keys)), **{key: named[key] for key in named if key != _CONFIG}}
            elsewhere = parser.files or parser.keys or parser.reads_argument
            whole = not elsewhere and not (parser.reads_config and _CONFIG in named)
            for name in parser.classes:
                call = Call(name, (), {**_left(parser, named), **named}, whole)
                told.setdefault(str(call), (options or ())[0].location)
    return _as_settings(told)


def _left(parser: DataclassParser, named: Mapping[str, Value]) -> dict[str, Value]:
    """The fields of the project's own that nothing gives."""
    return {name: Unread("_own") for name in sorted(parser.own - named.keys())[:_MOST_OWN]}


def calls_of_tools(launch: Context, configs: Sequence[Context]) -> list[Setting]:
    """What each command of TRL's makes of its options and of the file that it names: ``trl.SFTConfig(data_seed=7)``.

    Args:
        launch: with the commands.
        configs: the files of the run whose keys are the fields of dataclasses.
    """
    found: dict[str, Location] = {}
    for options, command in zip(launch.options, launch.commands, strict=False):
        parser = parser_of_tool(command)
        if parser is not None and options:
            config = _file_of(options, configs)
            own = [one for one in options if one.name != _CONFIG]
            named = dict(_fields((*(config.keys if config is not None else ()), *own)))
            names_file = any(one.name == _CONFIG and one.value is not None for one in options)
            line = str(Call(parser.classes[0], (), named, whole=config is not None or not names_file))
            found.setdefault(line, options[0].location)
    return _as_settings(found)


def _file_of(options: Sequence[LaunchOption], configs: Sequence[Context]) -> Context | None:
    """The one file among those of the run that ``--config`` names."""
    path = next((one.value for one in options if one.name == _CONFIG), None)
    return only_file(path, configs) if isinstance(path, str) else None


def _as_settings(lines: Mapping[str, Location]) -> list[Setting]:
    """Calls with where each stands, as one setting; none without any."""
    places = tuple(lines.values())
    return [Setting(key=CALLS_KEY, value=tuple(lines), location=places[0], places=places)] if lines else []


def _fields(options: Sequence[LaunchOption]) -> Iterator[tuple[str, Value]]:
    """The fields that options name, with their values: ``--no_bf16`` is false, a bare ``--bf16`` true."""
    for option in options:
        bare = option.value is True
        name, value = option.name, True if bare else _read(option.value)
        if bare and name.startswith(NEGATED):
            name, value = name.removeprefix(NEGATED), False
        if name.isidentifier() and not SECRET.search(name):
            yield name, Unread("_given") if value is None else value


def _launched(call: Call, options: Sequence[LaunchOption] | None) -> Call:
    unread = {option: f"_given_{number}" for number, option in enumerate(dict.fromkeys(call.options))}

    def value_of(option: OptionValue) -> Value:
        given = None if options is None else option_among(option.flags, option.switched, options)
        if options is not None and given is None:
            return None if isinstance(option.default, Unread) else option.default
        value = None if given is None else _value(given, option)
        return Unread(unread[option]) if value is None else value

    return call.with_options(value_of)


def _value(given: LaunchOption, option: OptionValue) -> Value:
    """What a launch gives, as the program gets it; None where that is not known."""
    if given.value is True:
        return bare_value(option.flags, option.switched, given.name)
    return _read(given.value)


def _read(text: str | bool | None) -> Value:
    """A word of a command line as a parser reads it; None for what is not known, and for what is no word."""
    if not isinstance(text, str):
        return None
    try:
        read = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        read = None
    if isinstance(read, (bool, int, float)):
        return read
    return text if is_word(text) else None
