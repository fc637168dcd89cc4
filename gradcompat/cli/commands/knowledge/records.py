"""``gradcompat knowledge``: for those who write records."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import date
from importlib import import_module
from pathlib import Path

from gradcompat.cli.authored_file import authored_file
from gradcompat.cli.console import package_index, print_note
from gradcompat.database.open import public_records
from gradcompat.database.private import files_of, with_file
from gradcompat.errors import IndexUnavailable, InvalidIssue, UsageError
from gradcompat.index.catalog import Lookup
from gradcompat.index.snapshot import SHIPPED, Snapshot
from gradcompat.index.snapshot_writing import names_for_snapshot, write_snapshot
from gradcompat.knowledge import matrix
from gradcompat.knowledge.compile import compile_records, dumps
from gradcompat.knowledge.lint import is_own, lint, unproved_bounds
from gradcompat.knowledge.load import COMPILED, KnowledgeBase, load
from gradcompat.knowledge.measured import FOLDER, read_rows
from gradcompat.knowledge.ranges import ranges, verdicts_of
from gradcompat.knowledge.records import Authored, Problem, read, read_text
from gradcompat.messages import counted
from gradcompat.model.issue import IssueProbe
from gradcompat.model.probe import Row
from gradcompat.names import normalise
from gradcompat.recipes.table import BY_NAME
from gradcompat.renderers import ranges_text
from gradcompat.renderers.terminal import safe

_MATRICES = {
    "text": "gradcompat.renderers.matrix_text",
    "svg": "gradcompat.renderers.matrix_svg",
    "html": "gradcompat.renderers.matrix_html",
}


def run_lint(path: str | None, own: Sequence[str] = ()) -> int:
    """Print every problem, bounds that say that they were measured and that no rows prove among them.

    Args:
        path: the file of records; the rows stand in the folder `measured` beside it.
        own: files and folders of somebody's own records, which are linted beside those that ship.

    Returns:
        1 if there is a problem.

    Raises:
        KnowledgeError: if the records or the rows cannot be read.
    """
    named = [path] if path is not None or not own else []
    status = 0
    for one in named:
        authored = read(Path(authored_file(one)))
        status = max(status, _tell(authored, public_records(print_note) if is_own(authored) else None))
    if own:
        status = max(status, _lint_own(own))
    return status


def _tell(authored: Authored, shipped: KnowledgeBase | None) -> int:
    """Print the problems of a file, and how many there are."""
    rows, problems = problems_of(authored, shipped)
    for problem in problems:
        sys.stdout.write(f"{safe(str(problem))}\n")
    found = counted(len(problems), "problem") if problems else "no problems"
    sys.stdout.write(f"{counted(len(authored.records), 'record')}, {counted(len(rows), 'measurement')}, {found}\n")
    return 1 if problems else 0


def problems_of(authored: Authored, shipped: KnowledgeBase | None) -> tuple[tuple[Row, ...], tuple[Problem, ...]]:
    """Everything that `knowledge lint` finds in a file.

    Args:
        authored: the file.
        shipped: for somebody's own records, those that they stand beside; the shipped rows then count, too.

    Returns:
        The rows beside the file, and its problems in its order.

    Raises:
        KnowledgeError: if the rows cannot be read.
    """
    beside = read_rows(Path(authored.path).parent / FOLDER)
    rows = beside if shipped is None else (*matrix.load_rows(), *beside)
    return beside, (*lint(authored, rows, shipped), *unproved_bounds(authored, rows))


def _lint_own(places: Sequence[str]) -> int:
    """Each file for itself, beside those that ship and those that were named before it."""
    base, status = public_records(print_note), 0
    for place in dict.fromkeys(places):
        for file in files_of(place, Path(place)):
            authored = read_text(file.text, file.name)
            wrong = _tell(authored, base)
            status = max(status, wrong)
            if not wrong:
                base = with_file(base, file)
    return status


def run_compile(named: str | None) -> int:
    """Write the compiled knowledge into the package.

    Args:
        named: the file of records; None for the one of the checkout that is the working folder.

    Raises:
        KnowledgeError: if the file cannot be read or a record is wrong.
        UsageError: if it cannot be written.
    """
    path = authored_file(named)
    authored = read(Path(path))
    rows, problems = problems_of(authored, None)
    if problems:
        raise InvalidIssue(
            counted(len(problems), "problem"), path=path, hint=f"`gradcompat knowledge lint {path}` lists them"
        )
    for file, text in (
        (COMPILED, dumps(compile_records(authored))),
        (matrix.SHIPPED, matrix.dumps(matrix.compile_rows(rows))),
    ):
        try:
            file.write_text(text, "utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", path=str(file)) from None
    records, measured = counted(len(authored.records), "record"), counted(len(rows), "measurement")
    sys.stdout.write(f"{records} and {measured} written\n")
    return 0


def run_snapshot(output: str | None, lookup: Lookup) -> int:
    """Write what the index knows of the packages that plans are made of.

    Returns:
        0 if everything could be looked up, 3 if something is missing in the file.

    Raises:
        IndexUnavailable: if the index knows none of the packages.
        UsageError: if the file cannot be written.
    """
    base = load()
    names = names_for_snapshot({*base.by_package, *base.names.families})
    path = SHIPPED if output is None else Path(output)
    with package_index(lookup) as catalogue:
        try:
            written = write_snapshot(catalogue, names, path, date.today().isoformat(), _progress)
        except OSError as error:
            raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None
    for what, reason in (*written.missing, *written.unread):
        sys.stderr.write(f"missing: {safe(what)}: {safe(reason)}\n")
    sys.stdout.write(
        f"{counted(written.packages, 'package')}, {counted(written.releases, 'release')} and the requirements of "
        f"{written.requirements} written to {path} ({written.size / 1e6:.2f} MB)\n"
    )
    return 3 if written.missing or written.unread else 0


def _progress(name: str, number: int, count: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{number} of {count}: {name}" if number < count else "\r\x1b[K")
        sys.stderr.flush()


def run_matrix(package: str | None, recipe: str | None, form: str, measured: str | None = None) -> int:
    """Write tables of verdicts, or one of them.

    Args:
        package: only those of this package.
        recipe: only those of this recipe.
        form: the format.
        measured: a folder of rows, in the place of those that ship with gradcompat.

    Raises:
        UsageError: if there is no such table, or no such format.
        KnowledgeError: if the measurements cannot be loaded.
    """
    if form not in _MATRICES:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_MATRICES)}")
    wanted = None if package is None else normalise(package)
    every = matrix.matrices(_rows(measured))
    found = [one for one in every if wanted in (None, one.package) and recipe in (None, one.recipe)]
    if not found:
        raise UsageError("nothing was measured of that", hint="`gradcompat knowledge matrix` shows everything")
    if form != "text" and len(found) > 1:
        known = ", ".join(f"{one.package} {one.recipe}" for one in found)
        raise UsageError("a file holds one table", hint=f"name a package and a recipe: {known}")
    renderer = import_module(_MATRICES[form])
    for position, one in enumerate(found):
        sys.stdout.write("\n" if position else "")
        renderer.render(one, sys.stdout)
    return 0


def run_ranges(package: str, probe: str | None, measured: str | None = None) -> int:
    """Write the ranges that measurements make, and what is not known of them.

    Args:
        package: whose releases were measured.
        probe: the id of a record or the name of a recipe; None for everything that was measured.
        measured: a folder of rows, in the place of those that ship with gradcompat.

    Returns:
        0 if every release has a verdict and every bound lies between two of them, else 3.

    Raises:
        UsageError: if nothing was measured of that.
        KnowledgeError: if the measurements cannot be loaded.
    """
    name = normalise(package)
    rows = [row for row in _rows(measured) if row.package == name]
    probes = _probes(rows, probe)
    if not probes:
        raise UsageError("nothing was measured of that", hint="`gradcompat knowledge matrix` shows everything")
    try:
        every = [one.version for one in Snapshot().releases(name) if not one.version.is_prerelease]
    except IndexUnavailable:
        every = []
        sys.stderr.write(f"note: the releases of {name} other than the measured ones are unknown\n")
    status = 0
    for one in probes:
        verdicts = verdicts_of(rows, one)
        low = min(verdicts, default=None)
        if low is None:
            continue
        found = ranges((version for version in every if version >= low), verdicts)
        ranges_text.render(name, one, found, sys.stdout)
        status = status if found.exact else 3
    return status


def _probes(rows: Sequence[Row], probe: str | None) -> list[IssueProbe]:
    """What is looked at in the rows: a record's probes with its quantities, or probes with everything they measure."""
    measured = {str(row.measurement.spec): row.measurement.spec for row in rows if row.measurement.spec.name in BY_NAME}
    if probe is None or probe in BY_NAME:
        return [IssueProbe(spec=spec) for spec in measured.values() if probe in (None, spec.name)]
    issue = load().get(probe)
    if issue is None:
        raise UsageError(f"`{probe}` is neither a record nor a recipe", hint=f"recipes are {', '.join(BY_NAME)}")
    return [one for one in issue.probes if str(one.spec) in measured]


def _rows(folder: str | None) -> tuple[Row, ...]:
    if folder is None:
        return matrix.load_rows()
    if not os.path.isdir(Path(folder)):
        raise UsageError("is not a folder of measurements", path=folder)
    return read_rows(Path(folder))
