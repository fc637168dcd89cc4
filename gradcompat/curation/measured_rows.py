"""What was measured, as authors ask for it: a folder's rows or the shipped ones, tables, and ranges."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from gradcompat.errors import UsageError
from gradcompat.knowledge import matrix
from gradcompat.knowledge.load import load
from gradcompat.knowledge.measured import read_rows
from gradcompat.knowledge.ranges import ranges, verdicts_of
from gradcompat.model.issue import IssueProbe
from gradcompat.model.matrix import Matrix
from gradcompat.model.probe import Row
from gradcompat.model.ranges import Ranges
from gradcompat.recipes.table import BY_NAME
from gradcompat.requirements.names import normalise

_NOTHING = ("nothing was measured of that", "`gradcompat knowledge matrix` shows everything")


def rows_in(folder: str | None) -> tuple[Row, ...]:
    """The rows of a folder; those that ship with gradcompat where none is named.

    Raises:
        UsageError: if there is no such folder.
        KnowledgeError: if the rows cannot be read.
    """
    if folder is None:
        return matrix.load_rows()
    if not os.path.isdir(Path(folder)):
        raise UsageError("is not a folder of measurements", path=folder)
    return read_rows(Path(folder))


def tables_of(rows: Sequence[Row], package: str | None, recipe: str | None) -> list[Matrix]:
    """The tables of verdicts of a package and a recipe; None for all of them.

    Raises:
        UsageError: if there is none.
    """
    wanted = None if package is None else normalise(package)
    found = [
        measured_matrix
        for measured_matrix in matrix.matrices(rows)
        if wanted in (None, measured_matrix.package) and recipe in (None, measured_matrix.recipe)
    ]
    if not found:
        raise UsageError(_NOTHING[0], hint=_NOTHING[1])
    return found


def probes_in(rows: Sequence[Row], probe: str | None) -> list[IssueProbe]:
    """What is looked at in rows: a record's probes with its quantities, or probes with everything they measure.

    Args:
        rows: of one package.
        probe: the id of a record or the name of a recipe; None for everything that was measured.

    Raises:
        UsageError: if nothing was measured of that.
    """
    measured = {str(row.measurement.spec): row.measurement.spec for row in rows if row.measurement.spec.name in BY_NAME}
    if probe is None or probe in BY_NAME:
        found = [IssueProbe(spec=spec) for spec in measured.values() if probe in (None, spec.name)]
    else:
        issue = load().get(probe)
        if issue is None:
            raise UsageError(f"`{probe}` is neither a record nor a recipe", hint=f"recipes are {', '.join(BY_NAME)}")
        found = [probe for probe in issue.probes if str(probe.spec) in measured]
    if not found:
        raise UsageError(_NOTHING[0], hint=_NOTHING[1])
    return found


def ranges_in(
    rows: Sequence[Row], probes: Iterable[IssueProbe], every: Sequence[Version]
) -> Iterator[tuple[IssueProbe, Ranges]]:
    """The ranges that rows make of each probe that has a verdict.

    Args:
        rows: of one package.
        probes: what is looked at.
        every: the releases of the package, measured or not.
    """
    for probe in probes:
        verdicts = verdicts_of(rows, probe)
        low = min(verdicts, default=None)
        if low is not None:
            yield probe, ranges((version for version in every if version >= low), verdicts)
