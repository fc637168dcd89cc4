"""Rows of releases as the table of their package, and a table as the rows that it was made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from gradcompat.curation.release_archive import SKIPPED
from gradcompat.curation.release_row import READER, ReleaseRow
from gradcompat.curation.resolution import State
from gradcompat.curation.stored_facts import worth_storing
from gradcompat.curation.table_reduction import Spans, library_modules, reduce_lines
from gradcompat.files.atomic_file import write_atomically
from gradcompat.releases.lines import packed, unpacked
from gradcompat.releases.runs import runs_of_spans, stretches
from gradcompat.releases.table import INDEX, SUFFIX
from gradcompat.releases.table_file import TableFile, encoded

SECTIONS = ("names", "needs", "signatures", "classes", "models")


def table_bytes(
    package: str,
    rows: Sequence[ReleaseRow],
    states: Iterable[tuple[str, Sequence[State]]],
    before: TableFile | None = None,
) -> bytes:
    """The table of a package.

    Args:
        package: its normalised name.
        rows: those of some releases, from low to high. One of a release that is in ``before`` takes its place.
        states: what the modules say in them; a module may come more than once, with other sections.
        before: the table as it was, which is extended.
    """
    unread = {row.version: row.unread for row in rows if row.unread is not None}
    read = {row.version for row in rows if row.unread is None}
    built = {row.version for row in rows if row.built}
    imports = {top for row in rows for top in row.imports}
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
    lines: dict[str, dict[str, dict[str, Spans]]] = {section: {} for section in SECTIONS}
    if before is not None:
        _take(
            before,
            _Renumbering([numbers[version] if version in kept else None for version in known]),
            len(known),
            lines,
        )
    renumbering = _Renumbering([numbers.get(row.version) for row in rows])
    for module, several in states:
        for state in several:
            spans = list(renumbering.of(state.start, state.end))
            for section, key, value in worth_storing(state.sections):
                found = lines[section].setdefault(module, {}).setdefault(key, [])
                for start, end in spans:
                    # Most of what a module says is the same in its next state, too.
                    if found and found[-1][1] == start and found[-1][2] == value:
                        found[-1] = (found[-1][0], end, value)
                    else:
                        found.append((start, end, value))
    imports = library_modules(package, imports)
    for by_module in lines.values():
        for module in [module for module in by_module if module.partition(".")[0] not in imports]:
            del by_module[module]
    reduce_lines(package, lines)
    header = {
        "reader": READER,
        "package": package,
        "imports": sorted(imports),
        "versions": [str(version) for version in versions],
        "unread": {str(one): why for one, why in sorted(unread.items()) if one not in numbers},
        "built": sorted(numbers[version] for version in built if version in numbers),
        "skipped": sorted(SKIPPED),
    }
    sections = {
        section: {
            module: packed({key: runs_of_spans(spans, len(versions)) for key, spans in keys.items()})
            for module, keys in by_module.items()
            if keys
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
    write_atomically(path, content)
    index: dict[str, list[str]] = {}
    for one in sorted(folder.glob(f"*{SUFFIX}")):
        index[one.name.removesuffix(SUFFIX)] = TableFile(one).header["imports"]
    write_atomically(folder / INDEX, (json.dumps(index, indent=1) + "\n").encode())
    return path


class _Renumbering:
    """The new numbers of releases: stretches of them that stay together are moved as they are."""

    def __init__(self, numbers: Sequence[int | None]) -> None:
        """Take the new number of each, in rising order; None for one that is left out."""
        self._blocks: list[tuple[int, int, int]] = []
        for old, new in enumerate(numbers):
            if new is None:
                continue
            if self._blocks:
                start, end, first = self._blocks[-1]
                if end == old and first + (end - start) == new:
                    self._blocks[-1] = (start, old + 1, first)
                    continue
            self._blocks.append((old, old + 1, new))

    def of(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Where a stretch is found, from its first number to the one behind its last."""
        for low, high, first in self._blocks:
            inner, outer = max(start, low), min(end, high)
            if inner < outer:
                yield first + inner - low, first + outer - low


def _take(
    table: TableFile, renumbering: _Renumbering, count: int, lines: dict[str, dict[str, dict[str, Spans]]]
) -> None:
    """Take over what a table has, under the new numbers of its releases."""
    for section in SECTIONS:
        for module, line in table.lines(section):
            by_key = lines[section].setdefault(module, {})
            for key, runs in unpacked(line).items():
                spans = [
                    (new, behind, value)
                    for start, end, value in stretches(runs, count)
                    for new, behind in renumbering.of(start, end)
                ]
                if spans:
                    by_key.setdefault(key, []).extend(spans)
            if not by_key:
                del lines[section][module]
