"""Reading the releases of a package: each row is kept as soon as it is there, and the table is made of all of them."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from gradcompat.curation.facts_store import FactsStore
from gradcompat.curation.release_reading import read_sdist, read_wheel
from gradcompat.curation.release_row import READER, ReleaseRow, dumps, loads
from gradcompat.curation.table_writing import table_bytes, write_table
from gradcompat.errors import IndexUnavailable, KnowledgeError, UsageError
from gradcompat.index.catalog import Lookup, catalogue_of
from gradcompat.index.client import PackageIndex
from gradcompat.index.preference import best_first
from gradcompat.messages import counted
from gradcompat.model.release import Catalogue, Release, Target
from gradcompat.probes.pool import interruptible
from gradcompat.regular_files import read_regular
from gradcompat.releases.table import SUFFIX
from gradcompat.releases.table_file import TableFile

# How much of one file is fetched; the modules of the largest package have 40 MB, packed.
_MOST_FETCHED = 256 * 2**20
_LINUX = Target(python="3.11")


@dataclass(kw_only=True)
class Reading:
    """The releases of one package that are to be read.

    Attributes:
        rows: the folder that rows are kept in until the table has them.
        folder: the folder of the tables.
        say: is told what happens, a sentence at a time.
        lost: releases that could not be fetched; another run tries them again.
    """

    package: str
    releases: Sequence[Release]
    lookup: Lookup
    rows: Path
    folder: Path
    say: Callable[[str], object]
    lost: dict[Version, str] = field(default_factory=dict)

    def run(self, jobs: int, executor: Executor, *, local: bool, again: bool) -> None:
        """Read what is neither in the table nor among the rows, and write the table.

        Args:
            jobs: how many releases at a time.
            executor: what reads them.
            local: it is made of processes of this machine.
            again: read what the table has, too.

        Raises:
            KnowledgeError: if the table cannot be read or written.
        """
        before = None if again else self._table()
        done = {Version(one) for one in before.header["versions"]} if before is not None else set()
        kept = self._kept() - done
        left = [one.version for one in self.releases if one.version not in done | kept]
        self.say(f"{self.package}: {counted(len(left), 'release')} to read of {len(self.releases)}")
        try:
            self._read(left, jobs, executor, local=local)
        finally:
            new = self._kept() - done
            if new:
                self._write(new, before)

    def _read(self, left: Sequence[Version], jobs: int, executor: Executor, *, local: bool) -> None:
        read = _read_interruptibly if local else read_release
        store = str(self.rows / "modules.sqlite") if local else None
        waiting = deque(left)
        running: dict[Future[bytes], Version] = {}
        count = 0
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    version = waiting.popleft()
                    running[executor.submit(read, self.package, str(version), self.lookup, store)] = version
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    version = running.pop(future)
                    count += 1
                    error = future.exception()
                    if error is not None:
                        self.lost[version] = str(error) or type(error).__name__
                        self.say(f"{count} of {len(left)}: {self.package} {version} not read: {self.lost[version]}")
                        continue
                    row = self._keep(version, future.result())
                    state = f"not read: {row.unread}" if row.unread else counted(len(row.sections["names"]), "module")
                    self.say(f"{count} of {len(left)}: {self.package} {version}: {state}")
        finally:
            for future in running:
                future.cancel()

    def _table(self) -> TableFile | None:
        path = self.folder / (self.package + SUFFIX)
        if not os.path.exists(path):
            return None
        found = TableFile(path)
        return found if found.header.get("reader") == READER else None

    def _place(self, version: Version) -> Path:
        return self.rows / self.package / f"{version}.{READER}.row"

    def _kept(self) -> set[Version]:
        return {one.version for one in self.releases if os.path.exists(self._place(one.version))}

    def _keep(self, version: Version, content: bytes) -> ReleaseRow:
        path = self._place(version)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_bytes(content)
            os.replace(temporary, path)
        except OSError as error:
            raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(path)) from None
        return loads(content)

    def _write(self, versions: Collection[Version], before: TableFile | None) -> None:
        ordered = sorted(versions)
        content = table_bytes(self.package, lambda: map(self._row, ordered), before)
        try:
            path = write_table(self.folder, self.package, content)
        except OSError as error:
            raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(self.folder)) from None
        self.say(f"{self.package}: {counted(len(versions), 'release')} written to {path} ({len(content) / 1e3:.0f} kB)")

    def _row(self, version: Version) -> ReleaseRow:
        path = self._place(version)
        try:
            return loads(read_regular(path))
        except (OSError, ValueError):
            path.unlink(missing_ok=True)
            hint = "run the same command again: it was removed, and is read again"
            raise KnowledgeError("is no row of a release", path=str(path), hint=hint) from None


def releases_to_read(name: str, catalogue: Catalogue, since: str) -> list[Release]:
    """The final releases of a package from a day on.

    Raises:
        UsageError: if there is none.
        IndexUnavailable: if it could not be looked up.
    """
    found = [
        one
        for one in catalogue.releases(name)
        if not one.version.is_prerelease and not one.yanked and (one.uploaded is None or one.uploaded >= since)
    ]
    if not found:
        raise UsageError(f"{catalogue.described} has no release of `{name}` since {since}")
    return found


def read_release(package: str, version: str, lookup: Lookup, store: str | None) -> bytes:
    """Read one release.

    Args:
        package: its normalised name.
        version: of the release.
        lookup: where its files are.
        store: the file of what was read; None to keep it in memory.

    Returns:
        The row, as it is kept.

    Raises:
        IndexUnavailable: if its files could not be fetched.
    """
    index = _index(lookup)
    release = Version(version)
    files = best_first(index.distributions(package, release), package, _LINUX)
    for file in files:
        if file.filename.endswith(".whl"):
            with index.open_file(file, _MOST_FETCHED) as wheel:
                return dumps(read_wheel(wheel, package, release, _store(store)))
    for file in files:
        if file.filename.endswith(".tar.gz"):
            with index.open_file(file, _MOST_FETCHED) as sdist:
                return dumps(read_sdist(sdist, release))
    return dumps(ReleaseRow(version=release, unread="it has neither a wheel nor a tar.gz", sections={}))


def _read_interruptibly(package: str, version: str, lookup: Lookup, store: str | None) -> bytes:
    return interruptible(read_release, package, version, lookup, store)


# What a thread keeps from release to release; connections are closed when the process ends.
_OWN = threading.local()
_OPEN = ExitStack()
atexit.register(_OPEN.close)


def _index(lookup: Lookup) -> PackageIndex:
    if getattr(_OWN, "lookup", None) != lookup:
        catalogue = _OPEN.enter_context(catalogue_of(lookup, lambda _: None))
        if not isinstance(catalogue, PackageIndex):
            raise IndexUnavailable("files of releases are on an index", hint="leave out `--offline`")
        _OWN.lookup, _OWN.index = lookup, catalogue
    found: PackageIndex = _OWN.index
    return found


def _store(path: str | None) -> FactsStore:
    if not hasattr(_OWN, "store"):
        _OWN.store = FactsStore(Path(path) if path is not None else None, READER)
    found: FactsStore = _OWN.store
    return found
