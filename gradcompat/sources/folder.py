"""Finds everything in a folder that can be read as an environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gradcompat.dependency_formats import BY_KIND, Format, by_name, is_resolved_by_lock, says_enough
from gradcompat.errors import NotFound
from gradcompat.files.root import Root, is_link_outside, root_of_file
from gradcompat.formats import project_walk
from gradcompat.formats.document import read_bytes
from gradcompat.model.environment import Location, Skipped
from gradcompat.sources.workspace import lock_above
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

# What declares the requirements of a project, and not an environment of its own.
_OF_PROJECTS = frozenset({"pyproject.toml", "setup.cfg", "setup.py"})
_YAML = (".yml", ".yaml")
# Charts of Helm and packages of Dart have `dependencies:` too, and neither channels nor a section for pip.
_OF_CONDA = (
    lazy_pattern(rb"(?m)^dependencies:[ \t\r]*$"),
    lazy_pattern(rb"(?m)^channels:[ \t\r]*$|^[ \t]*-[ \t]+pip:[ \t\r]*$"),
)


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
    last: list[tuple[Path, str]] = []

    def unreadable(error: OSError) -> None:
        skipped.append(project_walk.unlisted(error, folder, shown))

    def passed_over(path: Path) -> None:
        label = project_walk.label(path, folder, shown)
        reason = "is an installed environment: name it to check it"
        skipped.append(Skipped(what=label, reason=reason, gap=False, location=Location(path=label)))

    for here, names in project_walk.files(folder, unreadable, passed_over):
        formats: dict[str, Format] = {}
        for name in names:
            expected = by_name(name) or _by_content(here / name)
            if expected is None:
                continue
            if is_link_outside(here / name, root):
                label = project_walk.label(here / name, folder, shown)
                skipped.append(Skipped(what=label, reason=root.objection, location=Location(path=label)))
            elif worth_reading(here / name, expected):
                formats[name] = expected
        # The lockfile is what will be installed, and not the ranges beside it.
        beside = next((name for name, expected in formats.items() if expected.lock), None)
        above = None
        if beside is None and any(expected.kind in _OF_PROJECTS for expected in formats.values()):
            above = lock_above(here, root)
            if above is None and here == folder:
                # A member that is the target by itself: the lock is as far away as a file of it could refer to.
                above = lock_above(here, root_of_file(here / "pyproject.toml", root.named))
                if above is not None:
                    files.append((above, _shown(above, folder, shown)))
        for name, expected in formats.items():
            label = project_walk.label(here / name, folder, shown)
            if expected.last:
                last.append((here / name, label))
                continue
            if beside is not None and is_resolved_by_lock(expected, name):
                lock, reason = here / beside, f"declares ranges, which {beside} beside it resolves"
            elif above is not None and expected.kind in _OF_PROJECTS:
                lock, reason = above, f"declares ranges, which {above.name} of the workspace resolves"
            else:
                lock = None
            if lock is not None:
                skipped.append(Skipped(what=label, reason=reason, gap=False, location=Location(path=label)))
                locked = _shown(lock, folder, shown)
                resolved[locked] = (*resolved.get(locked, ()), (here / name, label))
            else:
                files.append((here / name, label))
    return Found(tuple(files or last), tuple(skipped), resolved)


def _shown(lock: Path, folder: Path, shown: str) -> str:
    """The lockfile as the user would call it; one above the folder from there."""
    if lock.is_relative_to(folder):
        return project_walk.label(lock, folder, shown)
    return os.path.normpath(os.path.join(shown, os.path.relpath(lock, folder))).replace(os.sep, "/")


def _by_content(path: Path) -> Format | None:
    """The format of a file whose name says nothing: an environment of conda is often called like its project."""
    if not path.name.lower().endswith(_YAML):
        return None
    try:
        content = read_bytes(path, path.name)
    except NotFound:
        return None
    return BY_KIND["conda-environment"] if all(piece.search(content) for piece in _OF_CONDA) else None


def worth_reading(path: Path, expected: Format) -> bool:
    """Could the file hold an environment?

    Python files are many: only those that declare their requirements count. A workflow may be called
    ``environment-update.yml``.
    """
    if expected.mark is None or says_enough(expected, path.name):
        return True
    try:
        return expected.mark in read_bytes(path, path.name)
    except NotFound:
        return False
