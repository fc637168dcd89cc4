"""Options that several commands share, as dataclasses: a command takes one as a parameter and gets its options.

A field of such a class is an option: ``Annotated[type, Option(…)]`` with a default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_type_hints

from gradcompat.cli.declarations import Argument, Option
from gradcompat.startup.lazy_dataclasses import MISSING, dataclass, fields


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a command: :class:`inspect.Parameter` without its import.

    Attributes:
        annotation: its type, with what is declared of it.
        default: or :data:`MISSING`.
    """

    name: str
    annotation: Any
    default: Any


class Signature:
    """The parameters of a command, with those of its groups in their places.

    Attributes:
        parameters: each with its type as the annotation.
    """

    def __init__(self, command: Callable[..., int]) -> None:
        """Read the parameters of a function, all of them keyword-only: they are options, or dataclasses of options."""
        self.parameters: list[Parameter] = []
        self._groups: dict[str, type[Any]] = {}
        defaults: Mapping[str, Any] = getattr(command, "__kwdefaults__", None) or {}
        for name, hint in get_type_hints(command, include_extras=True).items():
            if name == "return":
                continue
            if isinstance(hint, type) and "__dataclass_fields__" in vars(hint):
                self._groups[name] = hint
                self.parameters += _options(hint)
            else:
                self.parameters.append(Parameter(name, hint, defaults.get(name, MISSING)))

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
    import inspect

    import typer

    signature = Signature(command)

    def callback(**given: Any) -> None:
        raise typer.Exit(command(**signature.arguments(given)))

    parameters = [
        inspect.Parameter(
            parameter.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if parameter.default is MISSING else parameter.default,
            annotation=_for_typer(parameter.annotation),
        )
        for parameter in signature.parameters
    ]
    callback.__doc__ = command.__doc__
    callback.__name__ = command.__name__
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect and typer
    callback.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return callback


def _for_typer(hint: Any) -> Any:
    declared = declaration(hint)
    return hint if declared is None else Annotated[get_args(hint)[0], declared.for_typer()]


def _options(group: type[Any]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [Parameter(field.name, hints[field.name], field.default) for field in fields(group)]
