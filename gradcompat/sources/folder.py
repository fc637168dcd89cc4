"""Finds everything in a folder that can be read as an environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gradcompat.dependency_formats import Format, by_name, is_resolved_by_lock
from gradcompat.errors import NotFound
from gradcompat.formats import walking
from gradcompat.formats.document import read_bytes
from gradcompat.model.environment import Location, Skipped
from gradcompat.root import Root, is_link_outside


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds.

    Attributes:
        files: to read, as paths and as they are shown.
        skipped: what was passed over.
        resolved: of each lockfile, as it is shown, the files beside it that were passed over because of it.
    """

    files: tuple[tuple[Path, str], ...]
    skipped: tuple[Skipped, ...]
    resolved: Mapping[str, tuple[tuple[Path, str], ...]]


def find(folder: Path, shown: str, root: Root) -> Found:
    """Search a folder and those below it, in a stable order; a link that leads out of the root is a gap."""
    files: list[tuple[Path, str]] = []
    skipped: list[Skipped] = []
    resolved: dict[str, tuple[tuple[Path, str], ...]] = {}

    def unreadable(error: OSError) -> None:
        skipped.append(walking.unlisted(error, folder, shown))

    def passed_over(path: Path) -> None:
        label = walking.label(path, folder, shown)
        reason = "is an installed environment: name it to check it"
        skipped.append(Skipped(what=label, reason=reason, gap=False, location=Location(path=label)))

    for here, names in walking.files(folder, unreadable, passed_over):
        formats: dict[str, Format] = {}
        for name in names:
            expected = by_name(name)
            if expected is None:
                continue
            if is_link_outside(here / name, root):
                label = walking.label(here / name, folder, shown)
                skipped.append(Skipped(what=label, reason=root.objection, location=Location(path=label)))
            elif worth_reading(here / name, expected):
                formats[name] = expected
        # The lockfile is what will be installed, and not the ranges beside it.
        lock = next((name for name, expected in formats.items() if expected.lock), None)
        for name, expected in formats.items():
            label = walking.label(here / name, folder, shown)
            if lock is not None and is_resolved_by_lock(expected, name):
                reason = f"declares ranges, which {lock} beside it resolves"
                skipped.append(Skipped(what=label, reason=reason, gap=False, location=Location(path=label)))
                locked = walking.label(here / lock, folder, shown)
                resolved[locked] = (*resolved.get(locked, ()), (here / name, label))
            else:
                files.append((here / name, label))
    return Found(tuple(files), tuple(skipped), resolved)


def worth_reading(path: Path, expected: Format) -> bool:
    """Could the file hold an environment? Python files are many: only those that declare their requirements count."""
    if expected.mark is None:
        return True
    try:
        return expected.mark in read_bytes(path, path.name)
    except NotFound:
        return False
