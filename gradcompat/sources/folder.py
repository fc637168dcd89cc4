"""Finds everything in a folder that can be read as an environment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gradcompat.formats import walking
from gradcompat.model.environment import Location, Skipped
from gradcompat.root import Root
from gradcompat.sources.registry import Reader, by_name

# What these ask for is what a lockfile beside them resolves: it is the lockfile that will be installed.
_RESOLVED_BY_LOCK = frozenset({"pyproject.toml", "setup.cfg", "conda-environment"})
_SCRIPT_MARK = b"# /// script"
_SCRIPT_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds: files to read, as paths and as they are shown, and what was passed over."""

    files: tuple[tuple[Path, str], ...]
    skipped: tuple[Skipped, ...]


def find(folder: Path, shown: str, root: Root) -> Found:
    """Search a folder and those below it, in a stable order; a link that leads out of the root is a gap."""
    files: list[tuple[Path, str]] = []
    skipped: list[Skipped] = []

    def unreadable(error: OSError) -> None:
        path = walking.label(Path(error.filename), folder, shown)
        skipped.append(Skipped(what=path, reason=f"cannot be read: {error.strerror}", location=Location(path=path)))

    for here, names in walking.files(folder, unreadable):
        readers: dict[str, Reader] = {}
        for name in names:
            reader = by_name(name)
            if reader is None:
                continue
            if (here / name).is_symlink() and root.leads_outside(here / name):
                label = walking.label(here / name, folder, shown)
                skipped.append(Skipped(what=label, reason=root.objection, location=Location(path=label)))
            elif worth_reading(here / name, reader):
                readers[name] = reader
        lock = next((name for name, reader in readers.items() if reader.lock), None)
        for name, reader in readers.items():
            label = walking.label(here / name, folder, shown)
            if lock is not None and (reader.kind in _RESOLVED_BY_LOCK or name.endswith(".in")):
                reason = f"asks for ranges, which {lock} beside it resolves"
                skipped.append(Skipped(what=label, reason=reason, gap=False, location=Location(path=label)))
            else:
                files.append((here / name, label))
    return Found(tuple(files), tuple(skipped))


def worth_reading(path: Path, reader: Reader) -> bool:
    """Could the file hold an environment? Python files are many: only those that declare their requirements count."""
    if reader.kind != "script":
        return True
    try:
        with path.open("rb") as file:
            return _SCRIPT_MARK in file.read(_SCRIPT_HEAD)
    except OSError:
        return False
