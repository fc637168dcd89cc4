"""The value of an option in a shell script gives way to another: ``--flag value``, ``--flag=value``, ``key=value``.

The scanner has followed variables to their assignments, so that the place is that of the word itself. The configs
that a script writes itself (``cat > zero2.json <<EOF``) are texts of their own formats.
"""

from __future__ import annotations

import re

from gradcompat.edit import json_setting, yaml_setting
from gradcompat.edit.setting_values import Replacement, SettingEdit, means, not_there, offset_of, refused, written
from gradcompat.formats.shell import Command, Trace, commands

# What stands for itself, in quotes and without.
_WORD = re.compile(r"[\w.,:@%+/-]+", re.ASCII)
_BETWEEN = " \t\r\n\\'\""
_SWITCH = re.compile(r"--?([A-Za-z][\w-]*)(?![\w=-])")
# Tools whose switches all take a value: their arguments are dataclasses of transformers' kind.
_TAKE_VALUES = frozenset({"trl", "swift", "llamafactory-cli"})
_FARTHEST = 200  # characters between an option and its value


def replacement(text: str, shown: str, change: SettingEdit) -> Replacement | None:
    """What has to be replaced; None if the new value stands there already.

    Raises:
        EditError: if another option or another value stands there, or the value needs quotes.
    """
    start = offset_of(text, change.location)
    if start is None:
        raise refused(change, "the setting is no longer there", shown)
    if change.spelling is None:
        return _inside(text, shown, start, change)
    if change.spelling.endswith(": {}"):
        return _written_config(text, shown, start, change)
    option = change.spelling.partition("{}")[0].rstrip()
    if not text[max(start - _FARTHEST, 0) : start].rstrip(_BETWEEN).endswith(option):
        raise refused(change, "the setting is no longer there", shown)
    match = _WORD.match(text, start)
    old = match[0] if match else text[start : start + _FARTHEST].split(None, 1)[0]
    if match is not None and means(old, change.new):
        return None
    if match is None or not means(old, change.old):
        raise not_there(change, old, shown)
    return Replacement(start, match.end(), _word(change, old, shown))


def _word(change: SettingEdit, old: str, shown: str) -> str:
    try:
        new = written(change, old)
    except ValueError:
        raise refused(change, "several words would replace one", shown) from None
    if not _WORD.fullmatch(new):
        raise refused(change, "the value has characters that are special to a shell", shown)
    return new


def _inside(text: str, shown: str, start: int, change: SettingEdit) -> Replacement | None:
    """A switch without a value, or a value inside of a string of JSON."""
    name = change.key.rpartition(".")[2]
    if not isinstance(change.new, bool) or not isinstance(change.old, bool):
        raise refused(change, "sets it in a way that is not edited", shown)
    if text[start] == "{":
        line = text[start : text.find("\n", start) if "\n" in text[start:] else len(text)]
        found = list(re.finditer(rf'\\?"{re.escape(name)}\\?"\s*:\s*(true|false)\b', line))
        if len(found) != 1 or found[0][1] not in ("true", "false"):
            raise refused(change, "sets it in a way that is not edited", shown)
        new = "true" if change.new else "false"
        return None if found[0][1] == new else Replacement(start + found[0].start(1), start + found[0].end(1), new)
    switch = _SWITCH.match(text, start)
    if switch is None or switch[1].replace("-", "_") != name:
        raise refused(change, "sets it in a way that is not edited", shown)
    if change.new is change.old:
        return None
    command = next(
        (command for command in _commands(text) if any(word.place(0) == start for word in command.words)), None
    )
    if command is not None and any(word.text.rpartition("/")[2] in _TAKE_VALUES for word in command.words):
        return Replacement(switch.end(), switch.end(), f" {'true' if change.new else 'false'}")
    value = "true" if change.new else "false"
    by_hand = f"leave it out, or write `{switch[0]} {value}` by hand if the program takes a value there"
    raise refused(change, f"`{switch[0]}` is a switch", shown, by_hand=by_hand)


def _written_config(text: str, shown: str, start: int, change: SettingEdit) -> Replacement | None:
    """A value in a config behind ``<<``."""
    heredocs = [
        heredoc for command in _commands(text) for heredoc in command.heredocs if heredoc.start <= start < heredoc.end
    ]
    if not heredocs:
        raise refused(change, "the setting is no longer there", shown)
    if change.spelling is not None and change.spelling.startswith('"'):
        return json_setting.replacement(text, shown, change)
    lines = text.count("\n", 0, heredocs[0].start)
    moved = heredocs[0].start - lines
    found = yaml_setting.replacement("\n" * lines + text[heredocs[0].start : heredocs[0].end], shown, change)
    return None if found is None else Replacement(found.start + moved, found.end + moved, found.text)


def _commands(text: str) -> list[Command]:
    return list(commands(text, {}, trace=Trace.of(text)))
