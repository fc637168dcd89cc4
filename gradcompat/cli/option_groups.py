"""Options that several commands share, as dataclasses: a command takes one as a parameter and gets its options.

A field of such a class is an option as typer reads it: ``Annotated[type, typer.Option(…)]`` with a default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

import typer


def with_exit_status(command: Callable[..., int]) -> Callable[..., None]:
    """The function as typer calls it: each group of options is a dataclass, and what it returns is the exit status.

    Args:
        command: its parameters are options, or dataclasses of options.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and is_dataclass(hint):
            groups[parameter.name] = hint
            parameters += _options(hint)
        else:
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))

    def callback(**given: Any) -> None:
        arguments = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        raise typer.Exit(command(**arguments, **given))

    callback.__doc__ = command.__doc__
    callback.__name__ = command.__name__
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect and typer
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return callback


def _options(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
