"""What is wrong with the tables of releases: who writes them by hand, or keeps half of a set, is told."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from packaging.version import InvalidVersion, Version

from gradcompat.curation.release_row import OLDEST_READER, READER
from gradcompat.curation.table_rows import SECTIONS
from gradcompat.errors import KnowledgeError
from gradcompat.files.regular_files import read_regular
from gradcompat.knowledge.records import Problem
from gradcompat.releases.lines import unpacked
from gradcompat.releases.runs import Run
from gradcompat.releases.table import INDEX, SUFFIX
from gradcompat.releases.table_file import TableFile, place_of

# All of them together, in the wheel.
_MOST_BYTES = 4 * 10**6


def lint_tables(folder: Path) -> Iterator[Problem]:
    """Every problem of the tables in a folder."""
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    tops: dict[str, list[str]] = {}
    for path in paths:
        try:
            table = TableFile(path)
            tops[path.name.removesuffix(SUFFIX)] = list(table.header["imports"])
            yield from (Problem(str(path), None, None, message) for message in _problems(table, path))
        except KnowledgeError as error:
            yield Problem(str(path), None, None, error.message)
        except (KeyError, TypeError, ValueError):
            yield Problem(str(path), None, None, f"was not written by `knowledge read`; {_AGAIN}")
    index = folder / INDEX
    if paths and _index(index) != tops:
        yield Problem(str(index), None, None, f"does not list the tables that are here; {_AGAIN}")
    size = sum(os.path.getsize(path) for path in paths)
    if size > _MOST_BYTES:
        yield Problem(str(folder), None, None, f"the tables have {size / 1e6:.1f} MB, more than {_MOST_BYTES / 1e6:g}")


_AGAIN = "`gradcompat knowledge read PACKAGE --reread` writes it again"


def _problems(table: TableFile, path: Path) -> Iterator[str]:
    header = table.header
    if header["package"] != path.name.removesuffix(SUFFIX):
        yield f"is the table of `{header['package']}`"
    if not OLDEST_READER <= header["reader"] <= READER:
        yield f"was written by reader {header['reader']}, and the reader is {READER}; {_AGAIN}"
    versions: list[Version] = []
    for text in header["versions"]:
        try:
            versions.append(Version(text))
        except InvalidVersion:
            yield f"`{text}` is not a version"
    if versions != sorted(set(versions)):
        yield "its releases are not sorted"
    if not all(0 <= number < len(versions) for number in header["built"]):
        yield "numbers a release that it does not have"
    for section in SECTIONS:
        yield from _section(table, section, len(versions))


def _section(table: TableFile, section: str, count: int) -> Iterator[str]:
    last = place_of("")
    for module, line in table.lines(section):
        if place_of(module) <= last:
            yield f"{section}: `{module}` is not where it is looked for"
        last = place_of(module)
        if module.partition(".")[0] not in table.header["imports"]:
            yield f"{section}: `{module}` is below none of its modules at the top"
        wrong = [key for key, runs in unpacked(line).items() if not _valid(runs, count)]
        if wrong:
            yield f"{section}: `{module}`: the releases of `{wrong[0]}` are no ranges"


def _valid(runs: Sequence[Run], count: int) -> bool:
    """Do they rise within the releases, change at each, and begin with a value?"""
    numbers = [number for number, _ in runs]
    values = [value for _, value in runs]
    return (
        bool(runs)
        and values[0] is not None
        and numbers == sorted(set(numbers))
        and numbers[0] >= 0
        and numbers[-1] < count
        and all(one != other for one, other in pairwise(values))
    )


def _index(path: Path) -> object:
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError):
        return None
