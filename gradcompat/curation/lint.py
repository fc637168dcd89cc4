"""Everything that is wrong with a file of records, what was measured beside it among it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from packaging.version import Version

from gradcompat.curation.table_lint import lint_tables
from gradcompat.curation.watch import verdicts
from gradcompat.database.private import files_of, with_file
from gradcompat.errors import IndexUnavailable, UsageError
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.knowledge.evidence import Yardstick
from gradcompat.knowledge.lint import lint, unproved_bounds
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.knowledge.matrix import load_rows
from gradcompat.knowledge.measured import FOLDER, read_rows
from gradcompat.knowledge.records import Authored, Problem, read_text
from gradcompat.model.probe import Row
from gradcompat.probes.matrix import digest
from gradcompat.recipes.table import BY_NAME


@dataclass(frozen=True, slots=True)
class LintResult:
    """A file of records, the rows beside it, and its problems in its order."""

    authored: Authored
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def lint_records(authored: Authored, shipped: KnowledgeBase | None, only: Collection[str] | None = None) -> LintResult:
    """Look for everything that is wrong in a file.

    Args:
        authored: the file; rows stand in the folder `measured` beside it.
        shipped: for somebody's own records, those that they stand beside; the shipped rows then count, too.
        only: the ids of the records that are checked.

    Raises:
        KnowledgeError: if the rows cannot be read.
        UsageError: if one of ``only`` is no record of the file.
    """
    for name in sorted(frozenset(only or ()) - {record.id for record in authored.records}):
        raise UsageError(f"there is no record `{name}`", hint=f"{authored.path} has those that can be checked")
    beside = read_rows(Path(authored.path).parent / FOLDER)
    rows = beside if shipped is None else (*load_rows(), *beside)
    yardstick = Yardstick(digest=lambda spec: _digest(spec.name), releases=_releases)
    of_records = (*lint(authored, rows, shipped, only), *unproved_bounds(authored, rows, yardstick, only))
    return LintResult(authored, beside, (*of_records, *_verdicts(authored)))


def _verdicts(authored: Authored) -> Iterator[Problem]:
    """What is wrong with the verdicts on candidates beside a file of records."""
    path = Path(authored.path).parent / verdicts.FILE
    ids = {record.id for record in authored.records}
    for line, message in verdicts.problems(path, ids):
        yield Problem(str(path), line, None, message)


@cache
def _digest(recipe: str) -> str:
    return digest(BY_NAME[recipe])


@cache
def _releases(package: str) -> tuple[Version, ...]:
    """The final releases that the snapshot knows, without yanked ones; none of a package that it does not know."""
    try:
        found = shipped_snapshot().releases(package)
    except IndexUnavailable:
        return ()
    return tuple(hit.version for hit in found if not hit.yanked and not hit.version.is_prerelease)


def with_tables(found: LintResult, folder: Path) -> LintResult:
    """The problems of a file, and behind them those of the tables of releases in a folder."""
    return replace(found, problems=(*found.problems, *lint_tables(folder)))


def lint_private(places: Sequence[str], base: KnowledgeBase) -> Iterator[LintResult]:
    """Each of somebody's own files, beside ``base`` and those that were named before it.

    Raises:
        KnowledgeError: if a file or its rows cannot be read.
        UsageError: if a place that is named is not there.
    """
    for place in dict.fromkeys(places):
        for file in files_of(place, Path(place)):
            found = lint_records(read_text(file.text, file.name), base)
            if not found.problems:
                base = with_file(base, file)
            yield found
