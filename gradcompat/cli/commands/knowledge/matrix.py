"""``gradcompat knowledge matrix``."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from gradcompat.cli.parameters import Measured, TableFormat
from gradcompat.curation.measured_rows import rows_in, tables_of
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load
from gradcompat.knowledge.newest import newest_releases
from gradcompat.renderers import newest_text
from gradcompat.requirements.names import normalise

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
    newest: Annotated[
        bool, typer.Option("--newest", help="What is wrong in the newest measured release of each package.")
    ] = False,
    measured: Measured = None,
) -> int:
    """Show what was measured: releases against the variants of a recipe.

    Examples:
      gradcompat knowledge matrix transformers
      gradcompat knowledge matrix transformers gradient_flow --format svg > flow.svg
      gradcompat knowledge matrix transformers --newest
    """
    if form not in FORMATS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(FORMATS)}")
    if newest:
        return _newest(package, recipe, form, measured)
    found = tables_of(rows_in(measured), package, recipe)
    if form != "text" and len(found) > 1:
        known = ", ".join(f"{hit.package} {hit.recipe}" for hit in found)
        raise UsageError("a file holds one table", hint=f"name a package and a recipe: {known}")
    renderer = import_module(FORMATS[form])
    for position, one in enumerate(found):
        sys.stdout.write("\n" if position else "")
        renderer.render(one, sys.stdout)
    return 0


def _newest(package: str | None, recipe: str | None, form: str, measured: str | None) -> int:
    """What is wrong in the newest releases."""
    if form != "text":
        raise UsageError("`--newest` is text", hint="leave out `--format`")
    if recipe is not None:
        raise UsageError("`--newest` is about all recipes", hint=f"leave out `{recipe}`")
    rows = [row for row in rows_in(measured) if package is None or row.package == normalise(package)]
    base = load()
    found = newest_releases(rows, base.in_force(), base.names.families)
    if not found:
        raise UsageError("nothing was measured of that", hint="`gradcompat knowledge matrix` shows everything")
    newest_text.render(found, sys.stdout)
    return 0
