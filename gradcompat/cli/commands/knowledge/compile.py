"""``gradcompat knowledge compile``."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcompat.cli.commands.knowledge.records import run_compile
from gradcompat.cli.parameters import ISSUES


def command(
    *,
    path: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A file of records.", show_default=ISSUES)
    ] = None,
) -> int:
    """Write the records into the package, as the JSON that `check` loads.

    Exit status:
      0  it is written
      2  wrong usage, or the records are not right: `lint` says what is wrong, and nothing is written

    Examples:
      gradcompat knowledge compile
    """
    return run_compile(path)
