"""Modules that were read already: most are the same in the next release, and parsing is what reading costs."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gradcompat.curation.module_facts import ModuleFacts, dumps, loads

Facts = ModuleFacts | str
"""What a module says, or why it cannot be read."""

# How long another process may be writing, in seconds.
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class FileKey:
    """A file of a wheel, as the directory of the wheel describes it.

    Attributes:
        module: that it is.
        crc: of its content.
        size: of its content.
    """

    module: str
    crc: int
    size: int


class FactsStore:
    """What was read, for all processes of a machine; one that cannot be opened keeps nothing from run to run."""

    def __init__(self, path: Path | None, reader: int) -> None:
        """Open it.

        Args:
            path: the file; None for the memory of this process alone.
            reader: which reader reads; what others have read does not count.
        """
        self._memory: dict[tuple[str, FileKey], Facts] = {}
        self._package = ""
        self._reader = reader
        self._database: sqlite3.Connection | None = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._database = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
                self._database.execute("CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, content BLOB)")
                self._database.commit()
            except (OSError, sqlite3.Error):
                self._database = None

    def find(self, package: str, keys: Iterable[FileKey]) -> dict[FileKey, Facts]:
        """What is known of files of a package; those of other packages are forgotten."""
        if package != self._package:
            self._package, self._memory = package, {}
        found: dict[FileKey, Facts] = {}
        for key in keys:
            known = self._memory.get((package, key))
            if known is None:
                known = self._kept(package, key)
            if known is not None:
                found[key] = self._memory[package, key] = known
        return found

    def add(self, package: str, facts: dict[FileKey, Facts]) -> None:
        """Keep what was read."""
        self._memory |= {(package, key): one for key, one in facts.items()}
        if self._database is None:
            return
        rows = [(self._name(package, key), _packed(one)) for key, one in facts.items()]
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)
        except sqlite3.Error:
            self._database = None

    def _kept(self, package: str, key: FileKey) -> Facts | None:
        if self._database is None:
            return None
        try:
            row = self._database.execute(
                "SELECT content FROM facts WHERE key = ?", (self._name(package, key),)
            ).fetchone()
            return None if row is None else _unpacked(row[0])
        except (sqlite3.Error, ValueError, zlib.error):
            return None

    def _name(self, package: str, key: FileKey) -> str:
        return f"{self._reader} {package} {key.module} {key.crc} {key.size}"


def _packed(facts: Facts) -> bytes:
    return zlib.compress(facts.encode() if isinstance(facts, str) else dumps(facts), 1)


def _unpacked(content: bytes) -> Facts:
    text = zlib.decompress(content)
    return loads(text) if text.startswith(b"{") else text.decode()
