"""``gradcompat knowledge matrix``."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcompat.cli.commands.knowledge.records import run_matrix
from gradcompat.cli.parameters import Measured


def command(
    *,
    package: Annotated[
        str | None, typer.Argument(metavar="[PACKAGE]", help="Only the releases of this package.")
    ] = None,
    recipe: Annotated[str | None, typer.Argument(metavar="[RECIPE]", help="Only what this recipe measured.")] = None,
    form: Annotated[str, typer.Option("--format", metavar="text|svg|html", help="How to print the table.")] = "text",
    measured: Measured = None,
) -> int:
    """Show what was measured: releases against the variants of a recipe.

    Examples:
      gradcompat knowledge matrix transformers
      gradcompat knowledge matrix transformers gradient_flow --format svg > flow.svg
    """
    return run_matrix(package, recipe, form, measured)
