"""Finds everything in a folder that can be read, without following links and without entering environments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gradcompat.model.environment import Location, Skipped
from gradcompat.sources.registry import Reader, by_name

_IGNORED = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", "site-packages", "__pycache__", "__pypackages__", ".eggs",
        ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    }
)  # fmt: skip
# What these ask for is what a lockfile beside them resolves: it is the lockfile that will be installed.
_RESOLVED_BY_LOCK = frozenset({"pyproject.toml", "setup.cfg", "conda-environment"})
_SCRIPT_MARK = b"# /// script"
_SCRIPT_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds: files to read, as paths and as they are shown, and what was passed over."""

    files: tuple[tuple[Path, str], ...]
    skipped: tuple[Skipped, ...]


def find(folder: Path, shown: str) -> Found:
    """Search a folder and those below it, in a stable order."""
    files: list[tuple[Path, str]] = []
    skipped: list[Skipped] = []

    def unreadable(error: OSError) -> None:
        path = Path(error.filename).relative_to(folder).as_posix()
        skipped.append(Skipped(what=path, reason=f"cannot be read: {error.strerror}", location=Location(path=path)))

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not _ignored(parent, name))
        here = Path(parent)
        readers = {name: reader for name in sorted(names) if (reader := by_name(name)) and _worth(here / name, reader)}
        lock = next((name for name, reader in readers.items() if reader.lock), None)
        for name, reader in readers.items():
            path = here / name
            label = _label(path, folder, shown)
            if lock is not None and (reader.kind in _RESOLVED_BY_LOCK or name.endswith(".in")):
                reason = f"asks for ranges, which {lock} beside it resolves"
                skipped.append(Skipped(what=label, reason=reason, gap=False, location=Location(path=label)))
            else:
                files.append((path, label))
    return Found(tuple(files), tuple(skipped))


def _label(path: Path, folder: Path, shown: str) -> str:
    relative = path.relative_to(folder).as_posix()
    return relative if shown in (".", "./") else f"{shown.rstrip('/')}/{relative}"


def _ignored(parent: str, name: str) -> bool:
    path = os.path.join(parent, name)
    return (
        name in _IGNORED
        or os.path.isfile(os.path.join(path, "pyvenv.cfg"))
        or os.path.isdir(os.path.join(path, "conda-meta"))
    )


def _worth(path: Path, reader: Reader) -> bool:
    """Python files are many: only those that declare their requirements count."""
    if reader.kind != "script":
        return True
    try:
        with path.open("rb") as file:
            return _SCRIPT_MARK in file.read(_SCRIPT_HEAD)
    except OSError:
        return False
