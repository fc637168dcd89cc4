"""A command line without help, completion and mistakes, read by the declarations of its command and without typer.

``gradcompat check uv.lock --set KEY=VALUE`` is plain. Whatever is not (an option that is not declared, a value that is
missing, ``--help``) is left to typer, which says what is wrong; so nothing here has a message.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, get_args

from gradcompat.cli.commands import COMMANDS
from gradcompat.cli.declarations import Argument
from gradcompat.cli.option_groups import Parameter, Signature, declaration
from gradcompat.startup.lazy_dataclasses import MISSING

_PLAIN_SETTINGS = frozenset({"metavar", "help", "default_factory", "show_default"})


def run_plainly(words: Sequence[str]) -> int | None:
    """Run the command that the words of a command line call; its exit status, or None where typer has to read them."""
    if os.name == "nt":  # where patterns of file names are left to the program
        return None
    # A shell that asks for completions has no words, either.
    if not words or words[0] not in COMMANDS:
        return None
    command: Callable[..., int] | None = getattr(import_module(COMMANDS[words[0]]), "command", None)
    if command is None:
        return None
    signature = Signature(command)
    given = read_plain(signature.parameters, words[1:])
    return None if given is None else command(**signature.arguments(given))


def read_plain(parameters: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any] | None:
    """The value of each parameter as typer reads it; None where the words, or a declaration, are not plain.

    Args:
        parameters: as the command declares them.
        words: of the command line, behind the name of the command.
    """
    flags: dict[str, tuple[str, type, bool]] = {}  # → parameter, its type, what the flag alone says
    targets: str | None = None
    needed = False
    values: dict[str, Any] = {}
    for parameter in parameters:
        declared, kind = declaration(parameter.annotation), _kind(parameter.annotation)
        if declared is None or kind is None or not declared.settings.keys() <= _PLAIN_SETTINGS:
            return None
        values[parameter.name] = [] if kind is list else parameter.default
        if isinstance(declared, Argument):
            if kind is not list or targets is not None:
                return None
            targets, needed = parameter.name, "default_factory" not in declared.settings
            continue
        for flag in declared.flags:
            yes, _, no = flag.partition("/")
            flags[yes] = (parameter.name, kind, True)
            if no:
                flags[no] = (parameter.name, kind, False)
    if MISSING in values.values():
        return None
    filled = _filled(values, targets, flags, words)
    return None if filled is not None and needed and not filled[str(targets)] else filled


def _filled(
    values: dict[str, Any], targets: str | None, flags: Mapping[str, tuple[str, type, bool]], words: Sequence[str]
) -> dict[str, Any] | None:
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word == "-":
            if targets is None:
                return None
            values[targets].append(word)
            continue
        flag, has_value, value = word.partition("=")
        if flag not in flags:
            return None
        name, kind, says = flags[flag]
        if kind is bool:
            if has_value:
                return None
            values[name] = says
            continue
        text = value if has_value else next(left, "")
        if not text or (text.startswith("-") and not has_value):
            return None
        if kind is list:
            values[name].append(text)
        else:
            values[name] = text
    return values


def _kind(annotation: Any) -> type | None:
    """``bool``, ``str`` or ``list`` for a parameter of such a type, or None; with ``| None`` or without."""
    hint = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    if hint == list[str]:
        return list
    for kind in (bool, str):
        if hint in (kind, kind | None):
            return kind
    return None
