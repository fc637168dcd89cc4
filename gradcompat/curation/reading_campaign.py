"""Reading the releases of a package: their modules are fetched, then parsed, and the table is made of all of them."""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from packaging.version import Version

from gradcompat.curation import module_facts
from gradcompat.curation.folder_lock import alone
from gradcompat.curation.module_reader import KnownPieces, read_module
from gradcompat.curation.module_store import FileKey, ModuleStore
from gradcompat.curation.release_archive import fetch_sdist, fetch_wheel
from gradcompat.curation.release_row import LAYOUT, READER, ReleaseRow, dumps, loads
from gradcompat.curation.resolution import judged, module_states
from gradcompat.curation.table_rows import table_bytes, write_table
from gradcompat.errors import IndexUnavailable, KnowledgeError, UsageError
from gradcompat.files.atomic_file import write_atomically
from gradcompat.files.regular_files import read_regular
from gradcompat.index.client import PackageIndex
from gradcompat.index.preference import best_first
from gradcompat.messages import counted
from gradcompat.model.release import Catalogue, Release, Target
from gradcompat.probes.pool import interruptible
from gradcompat.releases.table import SUFFIX
from gradcompat.releases.table_file import TableFile

# How much of one file is fetched; the modules of the largest package have 40 MB, packed.
_MOST_FETCHED = 256 * 2**20
_LINUX = Target(python="3.11")
# Releases that are fetched at a time: it is the network that is waited for.
_CONNECTIONS = 4
# Source that is parsed by one call of an executor: enough that the call costs nothing beside it.
_BATCH = 2**20
_LARGEST_BATCH = 32 * 2**20


@dataclass(kw_only=True)
class Reading:
    """The releases of one package that are to be read.

    Attributes:
        rows: the folder that rows and modules are kept in.
        folder: the folder of the tables.
        say: is told what happens, a sentence at a time.
        lost: releases that could not be fetched; another run tries them again.
    """

    package: str
    releases: Sequence[Release]
    catalogue: Catalogue
    rows: Path
    folder: Path
    say: Callable[[str], object]
    lost: dict[Version, str] = field(default_factory=dict)

    def run(self, jobs: int, executor: Executor, *, local: bool, again: bool) -> None:
        """Fetch and parse what is neither in the table nor among the rows, and write the table.

        Args:
            jobs: how many batches of modules are parsed at a time.
            executor: what parses them.
            local: it is made of processes of this machine.
            again: read what the table has, too.

        Raises:
            KnowledgeError: if the table cannot be read or written, or another run reads the same package.
        """
        with alone(self.rows / self.package, wait=False):
            before = None if again else self._table()
            done = {Version(one) for one in before.header["versions"]} if before is not None else set()
            wanted = [release.version for release in self.releases if release.version not in done]
            left = [version for version in wanted if not os.path.exists(self._place(version))]
            self.say(f"{self.package}: {counted(len(left), 'release')} to fetch of {len(self.releases)}")
            store = ModuleStore(self.rows / self.package / "modules.sqlite", READER)
            try:
                self._fetch(left, store)
                rows = [self._row(version) for version in sorted(set(wanted) - self.lost.keys())]
                if rows:
                    self._parse(rows, store, jobs, executor, local=local)
                    self._write(rows, store, again=again)
            finally:
                store.close()

    def fetched(self, store: ModuleStore) -> dict[Version, ReleaseRow]:
        """The rows of the releases that could be fetched; what was fetched before is not fetched again.

        Raises:
            KnowledgeError: if a row cannot be read.
        """
        wanted = [release.version for release in self.releases]
        self._fetch([version for version in wanted if not os.path.exists(self._place(version))], store)
        return {version: self._row(version) for version in wanted if version not in self.lost}

    def _fetch(self, left: Sequence[Version], store: ModuleStore) -> None:
        """Fetch releases, and keep the row of each."""
        if not left:
            return
        index = self.catalogue
        if not isinstance(index, PackageIndex):
            raise IndexUnavailable("files of releases are on an index", hint="leave out `--offline`")
        with ThreadPoolExecutor(_CONNECTIONS) as threads:
            running = {threads.submit(_fetched, index, self.package, version, store): version for version in left}
            try:
                for count, future in enumerate(as_completed(running), 1):
                    version = running[future]
                    said = f"{count} of {len(left)}: {self.package} {version}"
                    try:
                        row = future.result()
                    except IndexUnavailable as error:
                        self.lost[version] = str(error)
                        self.say(f"{said} not fetched: {error}")
                        continue
                    self._keep(row)
                    self.say(f"{said}: {row.unread or counted(len(row.files), 'module')}")
            finally:
                threads.shutdown(wait=True, cancel_futures=True)

    def _parse(
        self, rows: Sequence[ReleaseRow], store: ModuleStore, jobs: int, executor: Executor, *, local: bool
    ) -> None:
        """Parse every file once, whatever the number of releases that have it."""
        files = dict.fromkeys(key for row in rows for key in row.files.values() if key is not None)
        # The files of one module follow one another, since most of what one defines is in the next one too.
        unread = store.unread(self.package, files)
        left = sorted((key for key in files if key in unread), key=lambda key: key.module)
        if not left:
            return
        self.say(f"{self.package}: {counted(len(left), 'module')} to parse of {len(files):,}")
        read = _parse_interruptibly if local else parse_modules
        waiting = deque(batches(left))
        running: dict[Future[list[bytes]], list[FileKey]] = {}
        count = 0
        try:
            while waiting or running:
                while waiting and len(running) < 2 * jobs:
                    keys = waiting.popleft()
                    sources = [(key.module, key.package, store.source(self.package, key)) for key in keys]
                    running[executor.submit(read, sources)] = keys
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    keys = running.pop(future)
                    store.add_facts(self.package, dict(zip(keys, future.result(), strict=True)))
                    count += len(keys)
                    self.say(f"{count:,} of {len(left):,}: {keys[-1].module}")
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
        return self.rows / self.package / f"{version}.{LAYOUT}.row"

    def _keep(self, row: ReleaseRow) -> None:
        path = self._place(row.version)
        try:
            write_atomically(path, dumps(row))
        except OSError as error:
            raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(path)) from None

    def _row(self, version: Version) -> ReleaseRow:
        path = self._place(version)
        try:
            return loads(read_regular(path))
        except (OSError, ValueError):
            path.unlink(missing_ok=True)
            hint = "run the same command again: it was removed, and is read again"
            raise KnowledgeError("is no row of a release", path=str(path), hint=hint) from None

    def _write(self, rows: Sequence[ReleaseRow], store: ModuleStore, *, again: bool) -> None:
        read = partial(store.facts, self.package)
        rows = [judged(row, read) for row in rows]
        states = module_states(rows, read)
        with alone(self.folder, wait=True):
            content = table_bytes(self.package, rows, states, None if again else self._table())
            try:
                path = write_table(self.folder, self.package, content)
            except OSError as error:
                raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(self.folder)) from None
        self.say(f"{self.package}: {counted(len(rows), 'release')} written to {path} ({len(content) / 1e3:.0f} kB)")


def _fetched(index: PackageIndex, package: str, version: Version, store: ModuleStore) -> ReleaseRow:
    """Fetch one release.

    Raises:
        IndexUnavailable: if its files could not be fetched.
    """
    files = best_first(index.distributions(package, version), package, _LINUX)
    for file in files:
        if file.filename.endswith(".whl"):
            with index.open_file(file, _MOST_FETCHED) as wheel:
                return fetch_wheel(wheel, package, version, store)
    for file in files:
        if file.filename.endswith(".tar.gz"):
            with index.open_file(file, _MOST_FETCHED) as sdist:
                return fetch_sdist(sdist, package, version, store)
    return ReleaseRow(version=version, unread="it has neither a wheel nor a tar.gz")


def batches(keys: Sequence[FileKey]) -> Iterator[list[FileKey]]:
    """The files in portions, of which each has those of whole modules, as far as that goes."""
    batch: list[FileKey] = []
    size = 0
    for key in keys:
        if batch and size + key.size > _BATCH and (key.module != batch[-1].module or size > _LARGEST_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(key)
        size += key.size
    if batch:
        yield batch


def releases_to_read(name: str, catalogue: Catalogue, since: str) -> list[Release]:
    """The final releases of a package from a day on, yanked ones too: who has pinned one has it.

    Raises:
        UsageError: if there is none.
        IndexUnavailable: if it could not be looked up.
    """
    found = [
        release
        for release in catalogue.releases(name)
        if not release.version.is_prerelease and (release.uploaded is None or release.uploaded >= since)
    ]
    if not found:
        raise UsageError(f"{catalogue.described} has no release of `{name}` since {since}")
    return found


def parse_modules(sources: Sequence[tuple[str, bool, bytes]]) -> list[bytes]:
    """What modules say, or why they cannot be read.

    Args:
        sources: of each module its name, whether it is an ``__init__``, and its source; those of one module follow one
            another.
    """
    cache = KnownPieces()
    found = []
    with _without_collection():
        for name, package, source in sources:
            try:
                found.append(module_facts.dumps(read_module(source, name, package=package, cache=cache)))
            except ValueError as error:
                found.append(f"a file that {error}".encode())
    return found


@contextmanager
def _without_collection() -> Iterator[None]:
    """No search for garbage: a syntax tree has no cycles, and its nodes set the search off again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _parse_interruptibly(sources: Sequence[tuple[str, bool, bytes]]) -> list[bytes]:
    return interruptible(parse_modules, sources)
