"""The modules of releases: their sources as they were fetched, and what was read out of them.

Most modules are the same in the next release, and parsing is what reading costs: each file is fetched and parsed once.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gradcompat.curation.module_facts import ModuleFacts, loads
from gradcompat.errors import KnowledgeError

Facts = ModuleFacts | str
"""What a module says, or why it cannot be read."""

# How long another process may be writing, in seconds.
_PATIENCE = 60.0
_MOST_VARIABLES = 500


@dataclass(frozen=True, slots=True)
class FileKey:
    """A file of a release, as the directory of its wheel describes it.

    Attributes:
        module: that it is.
        package: it is an ``__init__``.
        crc: of its content.
        size: of its content.
    """

    module: str
    package: bool
    crc: int
    size: int


class ModuleStore:
    """Sources and facts by file. Several threads may use it."""

    def __init__(self, path: Path | None, reader: int) -> None:
        """Open it.

        Args:
            path: the file; None for memory alone.
            reader: which reader reads; facts of others do not count, and are removed.

        Raises:
            KnowledgeError: if it cannot be opened.
        """
        self._reader = reader
        self._lock = threading.Lock()
        self._path = path
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path or ":memory:", timeout=_PATIENCE, check_same_thread=False)
            with self._database:
                self._database.execute("CREATE TABLE IF NOT EXISTS sources (key TEXT PRIMARY KEY, content BLOB)")
                self._database.execute("CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, content BLOB)")
                self._database.execute("DELETE FROM facts WHERE key NOT LIKE ?", (f"{reader} %",))
        except (OSError, sqlite3.Error) as error:
            raise self._broken(error) from None

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def lacking(self, package: str, keys: Collection[FileKey]) -> set[FileKey]:
        """The files of which neither the source nor the facts are there."""
        return set(keys) - self._those(package, keys)

    def unread(self, package: str, keys: Collection[FileKey]) -> set[FileKey]:
        """The files of which the facts are not there."""
        names = {self._facts_key(package, key): key for key in keys}
        known = self._known("facts", names)
        return {key for name, key in names.items() if name not in known}

    def add_sources(self, package: str, sources: Mapping[FileKey, bytes]) -> None:
        """Keep what was fetched."""
        self._insert("sources", ((_source_key(package, key), zlib.compress(one, 1)) for key, one in sources.items()))

    def source(self, package: str, key: FileKey) -> bytes:
        """The source of a file that is there.

        Raises:
            KnowledgeError: if it is not, or is damaged.
        """
        return self._content("sources", _source_key(package, key))

    def add_facts(self, package: str, facts: Mapping[FileKey, bytes]) -> None:
        """Keep what was read: facts as :func:`gradcompat.curation.module_facts.dumps` has them, or a sentence."""
        self._insert("facts", ((self._facts_key(package, key), zlib.compress(one, 1)) for key, one in facts.items()))

    def facts(self, package: str, key: FileKey) -> Facts:
        """The facts of a file that is there.

        Raises:
            KnowledgeError: if they are not, or are damaged.
        """
        text = self._content("facts", self._facts_key(package, key))
        try:
            return loads(text) if text.startswith(b"{") else text.decode()
        except ValueError as error:
            raise self._broken(error) from None

    def _those(self, package: str, keys: Collection[FileKey]) -> set[FileKey]:
        sources = {_source_key(package, key): key for key in keys}
        facts = {self._facts_key(package, key): key for key in keys}
        return {sources[name] for name in self._known("sources", sources)} | {
            facts[name] for name in self._known("facts", facts)
        }

    def _known(self, table: str, names: Iterable[str]) -> set[str]:
        listed = list(names)
        found: set[str] = set()
        try:
            with self._lock:
                for start in range(0, len(listed), _MOST_VARIABLES):
                    some = listed[start : start + _MOST_VARIABLES]
                    marks = ",".join("?" * len(some))
                    query = f"SELECT key FROM {table} WHERE key IN ({marks})"  # noqa: S608 - names of our own
                    found.update(name for (name,) in self._database.execute(query, some))
        except sqlite3.Error as error:
            raise self._broken(error) from None
        return found

    def _insert(self, table: str, rows: Iterator[tuple[str, bytes]]) -> None:
        listed = list(rows)
        try:
            with self._lock, self._database:
                self._database.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", listed)  # noqa: S608
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def _content(self, table: str, key: str) -> bytes:
        query = f"SELECT content FROM {table} WHERE key = ?"  # noqa: S608 - a name of our own
        try:
            with self._lock:
                row = self._database.execute(query, (key,)).fetchone()
            return zlib.decompress(row[0])
        except (sqlite3.Error, zlib.error, TypeError) as error:
            raise self._broken(error) from None

    def _facts_key(self, package: str, key: FileKey) -> str:
        return f"{self._reader} {_source_key(package, key)}"

    def _broken(self, error: Exception) -> KnowledgeError:
        hint = "remove it, and run the same command again: everything is fetched again"
        return KnowledgeError(f"cannot be used: {error}", path=str(self._path), hint=hint)


def _source_key(package: str, key: FileKey) -> str:
    return f"{package} {key.module}{'/' if key.package else ''} {key.crc} {key.size}"
