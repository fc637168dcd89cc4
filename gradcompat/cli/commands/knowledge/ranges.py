"""``gradcompat knowledge ranges``."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcompat.cli.commands.knowledge.records import run_ranges
from gradcompat.cli.parameters import Measured


def command(
    *,
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose releases were measured.")],
    probe: Annotated[
        str | None, typer.Argument(metavar="[PROBE]", help="The id of a record, or the name of a recipe.")
    ] = None,
    measured: Measured = None,
) -> int:
    """Print the version ranges that measurements prove, with their gaps and what is unknown.

    Exit status:
      0  every bound lies between two releases with a verdict, and every release has one
      2  wrong usage
      3  a release is without a verdict

    Examples:
      gradcompat knowledge ranges transformers GC-0004
    """
    return run_ranges(package, probe, measured)
