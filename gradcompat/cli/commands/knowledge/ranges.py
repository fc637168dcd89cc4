"""``gradcompat knowledge ranges``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gradcompat.cli.parameters import Measured
from gradcompat.curation.measured_rows import probes_in, ranges_in, rows_in
from gradcompat.errors import IndexUnavailable
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.renderers import ranges_text
from gradcompat.requirements.names import normalise


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
    name = normalise(package)
    rows = [row for row in rows_in(measured) if row.package == name]
    probes = probes_in(rows, probe)
    try:
        every = [release.version for release in shipped_snapshot().releases(name) if not release.version.is_prerelease]
    except IndexUnavailable:
        every = []
        sys.stderr.write(f"note: the releases of {name} other than the measured ones are unknown\n")
    status = 0
    for one, found in ranges_in(rows, probes, every):
        ranges_text.render(name, one, found, sys.stdout)
        status = status if found.exact else 3
    return status
