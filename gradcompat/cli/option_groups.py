"""Options that several commands share, as dataclasses: a command takes one as a parameter and gets its options.

A field of such a class is an option: ``Annotated[type, Option(…)]`` with a default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

from gradcompat.cli.declarations import Argument, Option


class Signature:
    """The parameters of a command, with those of its groups in their places.

    Attributes:
        parameters: each with its type as the annotation.
    """

    def __init__(self, command: Callable[..., int]) -> None:
        """Read the parameters of a function: they are options, or dataclasses of options."""
        self.parameters: list[inspect.Parameter] = []
        self._groups: dict[str, type] = {}
        hints = get_type_hints(command, include_extras=True)
        for parameter in inspect.signature(command).parameters.values():
            hint = hints[parameter.name]
            if isinstance(hint, type) and is_dataclass(hint):
                self._groups[parameter.name] = hint
                self.parameters += _options(hint)
            else:
                self.parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What the command is called with, where each of the parameters has one of these values."""
        left = dict(given)
        groups = {
            name: group(**{field.name: left.pop(field.name) for field in fields(group)})
            for name, group in self._groups.items()
        }
        return {**groups, **left}


def declaration(hint: Any) -> Option | Argument | None:
    """What the type of a parameter declares, if it declares something."""
    return next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, (Option, Argument))), None)


def with_exit_status(command: Callable[..., int]) -> Callable[..., None]:
    """The function as typer calls it: each group of options is a dataclass, and what it returns is the exit status.

    Args:
        command: its parameters are options, or dataclasses of options.
    """
    import typer

    signature = Signature(command)

    def callback(**given: Any) -> None:
        raise typer.Exit(command(**signature.arguments(given)))

    parameters = [one.replace(annotation=_for_typer(one.annotation)) for one in signature.parameters]
    callback.__doc__ = command.__doc__
    callback.__name__ = command.__name__
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect and typer
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return callback


def _for_typer(hint: Any) -> Any:
    declared = declaration(hint)
    return hint if declared is None else Annotated[get_args(hint)[0], declared.for_typer()]


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
