"""``gradcompat knowledge matrix``."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from gradcompat.cli.parameters import Measured, TableFormat
from gradcompat.curation.measured_rows import rows_in, tables_of
from gradcompat.errors import UsageError

FORMATS = {
    "text": "gradcompat.renderers.matrix_text",
    "svg": "gradcompat.renderers.matrix_svg",
    "html": "gradcompat.renderers.matrix_html",
}


def command(
    *,
    package: Annotated[
        str | None, typer.Argument(metavar="[PACKAGE]", help="Only the releases of this package.")
    ] = None,
    recipe: Annotated[str | None, typer.Argument(metavar="[RECIPE]", help="Only what this recipe measured.")] = None,
    form: TableFormat = "text",
    measured: Measured = None,
) -> int:
    """Show what was measured: releases against the variants of a recipe.

    Examples:
      gradcompat knowledge matrix transformers
      gradcompat knowledge matrix transformers gradient_flow --format svg > flow.svg
    """
    if form not in FORMATS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(FORMATS)}")
    found = tables_of(rows_in(measured), package, recipe)
    if form != "text" and len(found) > 1:
        known = ", ".join(f"{hit.package} {hit.recipe}" for hit in found)
        raise UsageError("a file holds one table", hint=f"name a package and a recipe: {known}")
    renderer = import_module(FORMATS[form])
    for position, one in enumerate(found):
        sys.stdout.write("\n" if position else "")
        renderer.render(one, sys.stdout)
    return 0
