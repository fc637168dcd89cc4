"""The files that uv takes its settings from: uv.toml and ``[tool.uv]`` of the project, of the user and of the machine.

The project's is the nearest uv.toml or pyproject.toml with ``[tool.uv]``, searched for from the root of the workspace
if there is one. What surprises: beside a uv.toml, ``[tool.uv]`` counts only for sources and the indexes that they name;
with UV_CONFIG_FILE all others are left out; user and machine have at most one file each.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from gradcompat.errors import Malformed, UsageError
from gradcompat.formats.document import Document
from gradcompat.formats.toml_places import TomlPlaces
from gradcompat.formats.toml_text import parse
from gradcompat.index.settings import Origin, Places, read_settings
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The settings of one file.

    Attributes:
        values: as the parser has them.
        places: where values stand in the file.
        keys: of the table in the file: ``("tool", "uv")``, or none.
        folder: what relative paths start from.
        name: the file, as it is shown.
        of_project: it is the project's, and not of the user or of the machine.
    """

    values: Mapping[str, Any]
    places: TomlPlaces
    keys: tuple[str, ...] = ()
    folder: Path
    name: str
    of_project: bool = False

    def origin(self, *keys: str | int) -> Origin:
        """Where a value stands."""
        return Origin(name=self.name, line=self.places.of(*self.keys, *keys).line)


@dataclass(frozen=True, slots=True, kw_only=True)
class UvFiles:
    """What was found.

    Attributes:
        settings: strongest first.
        projects: ``[tool.uv]`` of the project itself, and of the root of its workspace: where sources stand.
        of_project: there is a uv.lock, a uv.toml or ``[tool.uv]``, here or above.
    """

    settings: tuple[Table, ...]
    projects: tuple[Table, ...]
    of_project: bool


def find_files(start: Path, places: Places, notes: list[str]) -> UvFiles:
    """The files that count for a folder.

    Args:
        start: an absolute path.
        places: the machine and its variables.
        notes: takes a sentence about each file that cannot be read.

    Raises:
        UsageError: if one of them is broken.
    """
    folders = places.above(start)
    reading = _Reading(notes)
    marked = any(os.path.isfile(folder / name) for folder in folders for name in ("uv.lock", "uv.toml"))
    root, found = _projects(folders, reading)
    projects = tuple(replace(table, of_project=True) for table in found)
    environ = places.environ
    named = environ.get("UV_CONFIG_FILE")
    if named:
        table = reading.uv_toml(start / named)
        if table is None:
            raise Origin(name="UV_CONFIG_FILE").error(f"names `{named}`, which cannot be read")
        return UvFiles(settings=(table,), projects=projects, of_project=marked or bool(projects))
    if environ.get("UV_NO_CONFIG", "").lower() in ("1", "true", "yes", "on", "y", "t"):
        return UvFiles(settings=(), projects=projects, of_project=marked or bool(projects))
    own = _nearest(folders[folders.index(root) :], reading)
    own = None if own is None else replace(own, of_project=True)
    of_user = _first(_of_user(places), reading)
    of_machine = _first(_of_machine(places), reading)
    return UvFiles(
        settings=tuple(table for table in (own, of_user, of_machine) if table is not None),
        projects=projects,
        of_project=marked or own is not None,
    )


@dataclass(slots=True)
class _Reading:
    """Reads each file once, because what is above a project is looked at for more than one reason."""

    notes: list[str]
    tables: dict[Path, Table | None] = field(default_factory=dict)
    projects: set[Path] = field(default_factory=set)

    def uv_toml(self, path: Path) -> Table | None:
        """A whole file."""
        if path not in self.tables:
            document = read_settings(path, self.notes)
            self.tables[path] = None if document is None else _table(document, path.parent, _parsed(document), ())
        return self.tables[path]

    def pyproject(self, folder: Path) -> Table | None:
        """``[tool.uv]`` of a folder."""
        path = folder / "pyproject.toml"
        if path not in self.tables:
            document = read_settings(path, self.notes)
            self.tables[path] = None if document is None else self._tool(document, folder)
        return self.tables[path]

    def _tool(self, document: Document, folder: Path) -> Table | None:
        self.projects.add(folder)
        tool = _parsed(document).get("tool")
        values = tool.get("uv") if isinstance(tool, dict) else None
        if values is not None and not isinstance(values, dict):
            raise Origin(name=document.path).error("`tool.uv` is not a table")
        return None if values is None else _table(document, folder, values, ("tool", "uv"))


def _parsed(document: Document) -> dict[str, Any]:
    try:
        return parse(document.text, document.path)
    except Malformed as error:
        raise UsageError(error.message, path=error.path, line=error.line) from None


def _table(document: Document, folder: Path, values: Mapping[str, Any], keys: tuple[str, ...]) -> Table:
    places = TomlPlaces(document.text, document.path)
    return Table(values=values, places=places, keys=keys, folder=folder, name=document.path)


def _projects(folders: Sequence[Path], reading: _Reading) -> tuple[Path, tuple[Table, ...]]:
    """From where on settings are searched for, and the tables of the nearest project and of its workspace."""
    member: Path | None = None
    found: list[Table] = []
    for folder in folders:
        table = reading.pyproject(folder)
        if folder not in reading.projects:
            continue
        workspace = table.values.get("workspace") if table is not None else None
        if member is None:
            member = folder
            found += [table] if table is not None else []
            if workspace is not None:
                return folder, tuple(found)
        elif table is not None and isinstance(workspace, dict) and _has_member(workspace, folder, member):
            return folder, (*found, table)
    return folders[0], tuple(found)


def _has_member(workspace: Mapping[str, Any], root: Path, member: Path) -> bool:
    relative = PurePosixPath(member.relative_to(root).as_posix())

    def among(key: str) -> bool:
        patterns = workspace.get(key)
        return isinstance(patterns, list) and any(
            isinstance(pattern, str) and pattern and relative.match(pattern) for pattern in patterns
        )

    return among("members") and not among("exclude")


def _nearest(folders: Sequence[Path], reading: _Reading) -> Table | None:
    for folder in folders:
        table = reading.uv_toml(folder / "uv.toml") or reading.pyproject(folder)
        if table is not None:
            return table
    return None


def _first(paths: Sequence[Path], reading: _Reading) -> Table | None:
    for path in paths:
        table = reading.uv_toml(path)
        if table is not None:
            return table
    return None


def _of_user(places: Places) -> tuple[Path, ...]:
    home = places.home
    base = places.environ.get("APPDATA" if places.windows else "XDG_CONFIG_HOME")
    if base:
        return (Path(base) / "uv/uv.toml",)
    return () if home is None else (home / ("AppData/Roaming" if places.windows else ".config") / "uv/uv.toml",)


def _of_machine(places: Places) -> tuple[Path, ...]:
    if places.windows:
        return tuple(folder / "uv/uv.toml" for folder in places.folders("PROGRAMDATA", "ProgramData"))
    return (
        *(folder / "uv/uv.toml" for folder in places.folders("XDG_CONFIG_DIRS", "etc/xdg")),
        places.root / "etc/uv/uv.toml",
    )
