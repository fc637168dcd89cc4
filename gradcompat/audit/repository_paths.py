"""Where a file lies in its repository, and which columns of its line a pin takes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

from gradcompat.errors import SourceError
from gradcompat.formats.document import read_document
from gradcompat.model.environment import Location, Package

_NO_FILES = frozenset({"-", "--set"})  # what stands in the place of a path
_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
_QUOTES = "\"'"


class RepositoryPaths:
    """Paths as seen from the root of the repository, which is how forges call files.

    The root is what CI says, if we are in it, or the folder that has a ``.git``, or else the working directory. A
    symbolic link is followed as far as it stays inside.
    """

    def __init__(self) -> None:
        self._here = Path.cwd()
        self._root = _root(self._here)
        self._known: dict[str, str | None] = {}
        self._read: tuple[str, list[str]] = ("", [])

    def relative(self, path: str) -> str | None:
        """The path from the root, with slashes; None if it lies elsewhere, or is none."""
        if path not in self._known:
            self._known[path] = self._relative(path)
        return self._known[path]

    def _relative(self, path: str) -> str | None:
        if not _is_path(path):
            return None
        given = os.path.normpath(self._here / path)
        for candidate in (os.path.realpath(given), given):
            inside = Path(candidate)
            if inside != self._root and inside.is_relative_to(self._root):
                return inside.relative_to(self._root).as_posix()
        return None

    def shown(self, path: str) -> str:
        """The path from the root, or else as the user calls it."""
        return self.relative(path) or path

    def uri(self, path: str) -> str:
        """A relative reference for what lies in the repository, ``file:///…`` for what does not."""
        relative = self.relative(path)
        if relative is not None:
            return quote(os.fsencode(relative))
        if _is_path(path):
            return Path(os.path.normpath(self._here / path)).as_uri()
        return quote(path.encode("utf-8", "backslashreplace"))

    def columns(self, package: Package) -> tuple[int | None, int | None]:
        """The columns where a pin begins and where it is over, as far as its line shows them for sure."""
        location = package.location
        line = self._line(location)
        if line is None or package.version is None:
            return location.column, None
        version = re.escape(package.version)
        if location.column is None:
            name = "[-_.]+".join(map(re.escape, re.split(r"[-_.]+", package.name)))
            pin = rf"(?<![\w.-]){name}\s*(?:\[[^\]]*\])?\s*={{2,3}}\s*({version})(?![\w.+*!-])"
            found = [match.span(1) for match in re.finditer(pin, line, re.IGNORECASE)]
            return (found[0][0] + 1, found[0][1] + 1) if len(found) == 1 else (None, None)
        match = re.compile(rf"([{_QUOTES}]?){version}(?![\w.+*!])\1").match(line, location.column - 1)
        return location.column, None if match is None else match.end() + 1

    def _line(self, location: Location) -> str | None:
        """The line as it is now; nothing where it cannot be read any more."""
        if location.line is None or not _is_path(location.path):
            return None
        if self._read[0] != location.path:
            try:
                text = read_document(Path(location.path), location.path).text
            except SourceError:
                text = ""
            self._read = (location.path, text.split("\n"))
        lines = self._read[1]
        return lines[location.line - 1] if location.line <= len(lines) else None


def _is_path(path: str) -> bool:
    """Could it be the name of a file?"""
    try:
        return path not in _NO_FILES and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _root(here: Path) -> Path:
    for name in _ROOTS:
        stated = os.environ.get(name)
        if stated and here.is_relative_to(os.path.realpath(stated)):
            return Path(os.path.realpath(stated))
    return next((folder for folder in (here, *here.parents) if os.path.exists(folder / ".git")), here)
