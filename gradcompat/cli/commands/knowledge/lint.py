"""``gradcompat knowledge lint``."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

from gradcompat.cli.console import print_note
from gradcompat.cli.parameters import Only, OwnRecords
from gradcompat.cli.records_parameter import RecordsFile
from gradcompat.curation.authored_file import authored_file
from gradcompat.curation.lint import LintResult, lint_private, lint_records, with_tables
from gradcompat.database.open import public_records
from gradcompat.errors import UsageError
from gradcompat.knowledge.lint import is_own
from gradcompat.knowledge.records import read
from gradcompat.messages import counted
from gradcompat.releases.table import FOLDER
from gradcompat.renderers.terminal import safe


def command(
    *,
    path: RecordsFile = None,
    only: Only,
    knowledge: OwnRecords,
) -> int:
    """Check records: schema, examples through the matcher, bounds, references, traps, and what was measured.

    Measurements are read from the folder `measured` beside the file, verdicts on candidates from `watched.jsonl`; the
    tables of releases are checked with the records of gradcompat. With --only neither the tables nor the other records
    are, nor whether a remedy of another record leads to a release that these speak of.

    Exit status:
      0  nothing is wrong
      1  something is, and each problem is listed
      2  wrong usage, or the file cannot be read

    Examples:
      gradcompat knowledge lint
      gradcompat knowledge lint --only GC-0001
    """
    if only and knowledge:
        raise UsageError("--only is for the records of FILE", hint="name the file without --knowledge")
    wrong = False
    if path is not None or not knowledge:
        authored = read(Path(authored_file(path)))
        own = is_own(authored)
        ids = [identifier.upper() for identifier in only] or None
        found = lint_records(authored, public_records(print_note) if own else None, ids)
        wrong = _print(found if own or ids else with_tables(found, FOLDER), ids)
    if knowledge:
        for found in lint_private(knowledge, public_records(print_note)):
            wrong = _print(found) or wrong
    return int(wrong)


def _print(found: LintResult, only: Collection[str] | None = None) -> bool:
    """The problems of a file, and how many there are; whether there is one."""
    for problem in found.problems:
        sys.stdout.write(f"{safe(str(problem))}\n")
    problems = counted(len(found.problems), "problem") if found.problems else "no problems"
    records, rows = counted(len(found.authored.records), "record"), counted(len(found.rows), "measurement")
    checked = records if only is None else f"{len(frozenset(only))} of {records}"
    sys.stdout.write(f"{checked}, {rows}, {problems}\n")
    return bool(found.problems)
