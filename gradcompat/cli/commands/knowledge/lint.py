"""``gradcompat knowledge lint``."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcompat.cli.commands.knowledge.records import run_lint
from gradcompat.cli.parameters import ISSUES, OwnRecords


def command(
    *,
    path: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A file of records.", show_default=ISSUES)
    ] = None,
    knowledge: OwnRecords,
) -> int:
    """Check records: schema, examples through the matcher, bounds, references, traps, and what was measured.

    Measurements are read from the folder `measured` beside the file.

    Exit status:
      0  nothing is wrong
      1  something is, and each problem is listed
      2  wrong usage, or the file cannot be read

    Examples:
      gradcompat knowledge lint
    """
    return run_lint(path, knowledge)
