"""Options and arguments as a command declares them; typer is imported when it has to read them, and not before.

A plain command line needs no typer (:mod:`gradcompat.cli.plain`), and importing it takes as long as starting Python
three times.
"""

from __future__ import annotations

from typing import Any


class Option:
    """An option, in ``Annotated[type, Option("--name", help=…)]``.

    Attributes:
        flags: as they are typed; ``--yes/--no`` for a pair.
        settings: everything else that typer is told.
    """

    def __init__(self, *flags: str, **settings: Any) -> None:
        """Take what :func:`typer.Option` takes."""
        self.flags = flags
        self.settings = settings

    def for_typer(self) -> Any:
        """The same as typer has it."""
        import typer

        return typer.Option(*self.flags, **self.settings)


class Argument:
    """What stands without a flag, in ``Annotated[type, Argument(help=…)]``.

    Attributes:
        settings: everything that typer is told.
    """

    def __init__(self, **settings: Any) -> None:
        """Take what :func:`typer.Argument` takes."""
        self.settings = settings

    def for_typer(self) -> Any:
        """The same as typer has it."""
        import typer

        return typer.Argument(**self.settings)
