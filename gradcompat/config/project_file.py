"""The file that keeps a project's options: ``gradcompat.toml``, or a pyproject.toml with ``[tool.gradcompat]``.

The nearest one at or above a folder counts, and no other. A pyproject.toml without that table is passed over, as Ruff
does it, so that the parts of a workspace share what stands at its root.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gradcompat.errors import SourceError, UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.files.root import root_of_file
from gradcompat.model.environment import Location
from gradcompat.startup.lazy_dataclasses import dataclass

OWN = "gradcompat.toml"
SHARED = "pyproject.toml"
ABSENT = "is not there"
BESIDE = "a project's file names files and folders beside or below it; the command line may name any other"
_WORD = b"gradcompat"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """The file and its table.

    Attributes:
        path: where it is.
        shown: the same as seen from the current folder.
        keys: where the table stands in it: nothing for ``gradcompat.toml``, else ``("tool", "gradcompat")``.
        text: of the whole file.
        table: its content, not checked yet.
    """

    path: Path
    shown: str
    keys: tuple[str, ...]
    text: str
    table: dict[str, Any]

    def name(self, key: str) -> str:
        """How a key is called in a message: ``tool.gradcompat.strict``, or ``strict``."""
        return ".".join((*self.keys, key))

    def place(self, *keys: str | int) -> Location:
        """Where a value of the table stands."""
        from gradcompat.formats.toml_places import TomlPlaces

        return TomlPlaces(self.text, self.shown).key(*self.keys, *keys)

    def error(self, message: str, *keys: str | int, hint: str | None = None) -> UsageError:
        """An error about a value of the table, with its line."""
        return UsageError(message, path=self.shown, line=self.place(*keys).line, hint=hint)


def project_file(start: Path) -> ProjectFile | None:
    """The nearest file at or above a folder that keeps options.

    Raises:
        UsageError: if it cannot be read, or if two of one folder do.
    """
    for folder in (start, *start.parents):
        own = _own(_inside(folder / OWN))
        shared = _shared(_inside(folder / SHARED))
        if own is not None and shared is not None:
            raise UsageError(
                f"`[tool.gradcompat]` of the {SHARED} beside it keeps options, too",
                path=own.shown,
                hint="only one of the two can count: move everything into one",
            )
        if own is not None or shared is not None:
            return own or shared
    return None


def project_file_at(path: Path) -> ProjectFile:
    """The file of that name: a pyproject.toml with the table, or any other as a ``gradcompat.toml``.

    Raises:
        UsageError: if it cannot be read, or has no options.
    """
    found = _shared(path) if path.name == SHARED else _own(path)
    if found is None:
        raise UsageError("is not there, or has no `[tool.gradcompat]`", path=as_seen_from_here(path))
    return found


def why_not_inside(path: Path, root: Path) -> str | None:
    """Why a project may not have a path read: it leads out of its folder, or to a pipe or a device; None if it may."""
    try:
        real = Path(os.path.realpath(path))
    except (OSError, ValueError):
        return "is not a path"
    if not real.is_relative_to(os.path.realpath(root)):
        return "lies outside the folder of this file"
    if not os.path.exists(real):
        return ABSENT
    return None if os.path.isfile(real) or os.path.isdir(real) else "is neither a file nor a folder"


def as_seen_from_here(path: Path) -> str:
    """A path relative to the current folder, with slashes; absolute on another drive."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:
        return path.as_posix()


def _inside(path: Path) -> Path:
    """The path itself; a link of a project to what lies outside of it is not followed."""
    if path.is_symlink() and (root := root_of_file(path)).leads_outside(path):
        message = f"leads outside `{root.shown}`, and is not read"
        raise UsageError(message, path=as_seen_from_here(path), hint="put a file of its own there")
    return path


def _own(path: Path) -> ProjectFile | None:
    if not os.path.lexists(path):
        return None
    shown = as_seen_from_here(path)
    text, content = _read(path, shown)
    return ProjectFile(path=path, shown=shown, keys=(), text=text, table=content)


def _shared(path: Path) -> ProjectFile | None:
    """A pyproject.toml, if it has the table."""
    if not os.path.isfile(path):
        return None
    shown = as_seen_from_here(path)
    try:
        # Most projects do not speak of us, and then their file need not be parsed.
        if _WORD not in read_regular(path):
            return None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=shown) from None
    text, content = _read(path, shown)
    tool = content.get("tool")
    if not isinstance(tool, dict) or "gradcompat" not in tool:
        return None
    table = tool["gradcompat"]
    if not isinstance(table, dict):
        raise UsageError("`tool.gradcompat` is not a table", path=shown)
    return ProjectFile(path=path, shown=shown, keys=("tool", "gradcompat"), text=text, table=table)


def _read(path: Path, shown: str) -> tuple[str, dict[str, Any]]:
    from gradcompat.formats.document import read_document
    from gradcompat.formats.toml_text import parse

    try:
        text = read_document(path, shown).text
        return text, parse(text, shown)
    except SourceError as error:
        raise UsageError(error.message, path=error.path, line=error.line, hint=error.hint) from None
