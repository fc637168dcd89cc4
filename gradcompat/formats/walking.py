"""The files of a project: every file below a folder but those of environments, caches and version control."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

_IGNORED = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", "site-packages", "__pycache__", "__pypackages__", ".eggs",
        ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    }
)  # fmt: skip


def files(folder: Path, unreadable: Callable[[OSError], None]) -> Iterator[tuple[Path, list[str]]]:
    """Each folder with the names of its files, in a stable order; links to folders are not followed.

    Args:
        folder: where to begin.
        unreadable: is told of each folder that cannot be listed.
    """
    for parent, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not _ignored(parent, name))
        yield Path(parent), sorted(names)


def label(path: Path, folder: Path, shown: str) -> str:
    """A file below a folder, as the user would call it who calls the folder ``shown``."""
    relative = path.relative_to(folder).as_posix()
    return relative if shown in (".", "./") else f"{shown.rstrip('/')}/{relative}"


def _ignored(parent: str, name: str) -> bool:
    path = os.path.join(parent, name)
    return (
        name in _IGNORED
        or os.path.isfile(os.path.join(path, "pyvenv.cfg"))
        or os.path.isdir(os.path.join(path, "conda-meta"))
    )
