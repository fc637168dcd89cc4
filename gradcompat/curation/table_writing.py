"""Rows of releases as the table of their package, and a table as the rows that it was made of."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from packaging.version import Version

from gradcompat.curation.release_reading import SKIPPED
from gradcompat.curation.release_row import READER, ReleaseRow
from gradcompat.curation.stored_facts import worth_storing
from gradcompat.releases.lines import packed, unpacked
from gradcompat.releases.runs import Growing, values_of
from gradcompat.releases.table import INDEX, SUFFIX
from gradcompat.releases.table_file import TableFile, encoded

SECTIONS = ("names", "needs", "signatures", "classes")

# Section → module → key → runs.
_Lines = dict[str, dict[str, dict[str, Growing]]]


def table_bytes(package: str, rows: Callable[[], Iterable[ReleaseRow]], before: TableFile | None = None) -> bytes:
    """The table of a package.

    Args:
        package: its normalised name.
        rows: gives those of some releases, from low to high; called twice, so that they need not be kept in memory.
            One of a release that is in ``before`` takes its place.
        before: the table as it was, which is extended.
    """
    unread: dict[Version, str] = {}
    read: set[Version] = set()
    built: set[Version] = set()
    imports: set[str] = set()
    for row in rows():
        if row.unread is not None:
            unread[row.version] = row.unread
        else:
            read.add(row.version)
        if row.built:
            built.add(row.version)
        imports |= set(row.imports)
    known: list[Version] = []
    kept: set[Version] = set()
    if before is not None:
        header = before.header
        known = [Version(one) for one in header["versions"]]
        kept = {version for version in known if version not in read}
        built |= {known[number] for number in header["built"]} & kept
        unread = {**{Version(one): why for one, why in header["unread"].items()}, **unread}
        imports |= set(header["imports"])
    versions = sorted(read | kept)
    numbers = {version: number for number, version in enumerate(versions)}
    lines: _Lines = {section: {} for section in SECTIONS}
    if before is not None:
        _take(before, {old: numbers[one] for old, one in enumerate(known) if one in kept}, len(known), lines)
    for row in rows():
        for section, module, key, value in worth_storing(row.sections):
            _growing(lines, section, module, key).add(numbers[row.version], value)
    header = {
        "reader": READER,
        "package": package,
        "imports": sorted(imports),
        "versions": [str(one) for one in versions],
        "unread": {str(one): why for one, why in sorted(unread.items()) if one not in numbers},
        "built": sorted(numbers[one] for one in built),
        "skipped": sorted(SKIPPED),
    }
    sections = {
        section: {
            module: packed({key: growing.runs(len(versions)) for key, growing in keys.items()})
            for module, keys in by_module.items()
        }
        for section, by_module in lines.items()
    }
    return encoded(header, sections)


def write_table(folder: Path, package: str, content: bytes) -> Path:
    """Put a table into a folder, and into the folder's index.

    Raises:
        OSError: if it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (package + SUFFIX)
    _replace(path, content)
    index: dict[str, list[str]] = {}
    for one in sorted(folder.glob(f"*{SUFFIX}")):
        index[one.name.removesuffix(SUFFIX)] = TableFile(one).header["imports"]
    _replace(folder / INDEX, (json.dumps(index, indent=1) + "\n").encode())
    return path


def _growing(lines: _Lines, section: str, module: str, key: str) -> Growing:
    by_key = lines[section].setdefault(module, {})
    if key not in by_key:
        by_key[key] = Growing()
    return by_key[key]


def _take(table: TableFile, numbers: Mapping[int, int], count: int, lines: _Lines) -> None:
    """Take over what a table has, under the new numbers of its releases."""
    for section in SECTIONS:
        for module, line in table.lines(section):
            for key, runs in unpacked(line).items():
                for old, value in values_of(runs, count).items():
                    if old in numbers:
                        _growing(lines, section, module, key).add(numbers[old], value)


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    os.replace(temporary, path)
