"""Package indexes as a catalogue of releases: pages and metadata, fetched side by side and kept on disk.

What is in the cache and fresh is answered without loading httpx. Errors are kept like answers: who asks again is told
the same, and the index is not asked twice in one run.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.index.cache import Cache, Entry
from gradcompat.index.credentials import Credential
from gradcompat.index.filenames import first_word
from gradcompat.index.folders import local_files
from gradcompat.index.limits import DEFAULTS, Limits
from gradcompat.index.listing import Listing, listing, merged, packed, public, unpacked, version_of
from gradcompat.index.location import IndexLocation, named
from gradcompat.index.memo_cache import Answers
from gradcompat.index.pages import ACCEPT, read_page, uploaded
from gradcompat.index.preference import best_first
from gradcompat.index.settings import Strategy
from gradcompat.model.release import Distribution, Release, Target
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from gradcompat.index.requirements import RequirementsReader
    from gradcompat.index.transport import Transport

Progress = Callable[[int, int, str], object]
"""Called with the number of packages or releases that are done, the number of all, and the one that was done last."""


class PackageIndex:
    """One or several indexes; any number of threads may ask.

    Attributes:
        described: what it is, in words for the user.
    """

    def __init__(
        self,
        indexes: Sequence[IndexLocation],
        *,
        tied: Mapping[str, Sequence[IndexLocation]] | None = None,
        held: Mapping[str, str] | None = None,
        strategy: Strategy = "all",
        exclude_newer: str | None = None,
        cache: Path | None = None,
        credentials: Callable[[str], Credential | None] = lambda _: None,
        limits: Limits = DEFAULTS,
        certificates: Path | None = None,
        target: Target | None = None,
        progress: Progress | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            indexes: in the order of their priority; pages and folders of files among them.
            tied: package → where it comes from, and from nowhere else.
            held: package → why nobody is asked for it.
            strategy: ``all`` joins what all indexes have, as pip does; ``first`` takes a package from the first index
                that has it, as uv does. Pages and folders of files count in any case.
            exclude_newer: files from this moment on do not count; RFC 3339 in UTC.
            cache: the folder of the user's cache; None keeps nothing.
            credentials: those for a URL; they are sent to its origin alone.
            limits: how long, how often and how much.
            certificates: a file of authorities to trust in the place of the usual ones.
            target: the machine whose wheels say best what is required; by default Linux on x86_64.
            progress: called while several packages are waited for, in the thread that waits.
            sleep: waits between attempts; for tests.
        """
        self._indexes = tuple(index for index in indexes if not index.find_links)
        self._links = tuple(index for index in indexes if index.find_links)
        self._tied = {normalise(name): tuple(several) for name, several in (tied or {}).items()}
        self._held = {normalise(name): reason for name, reason in (held or {}).items()}
        self._strategy = strategy
        self._before = uploaded(exclude_newer)
        if exclude_newer is not None and self._before is None:
            raise ValueError(f"{exclude_newer!r} is not a time in UTC")
        self._cache = Cache(cache)
        self._credentials = credentials
        self._limits = limits
        self._certificates = certificates
        self._target = target if target is not None else Target(python="3.11")
        self._progress = progress
        self._sleep = sleep
        self._lock = threading.Lock()
        self._opened: tuple[Transport, RequirementsReader] | None = None
        self._listings: Answers[tuple[IndexLocation, str], Listing | None] = Answers()
        self._pages: Answers[IndexLocation, Mapping[str, Sequence[Distribution]]] = Answers()
        self._required: Answers[tuple[str, Version], tuple[str, ...] | None] = Answers()
        self._found: dict[str, tuple[Release, ...]] = {}
        self._undated: dict[str, set[str]] = {}
        self._refused: dict[str, set[str]] = {}
        self.described = _described(self._indexes, self._links)

    def __enter__(self) -> PackageIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections."""
        if self._opened is not None:
            self._opened[0].close()

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return 0 if self._opened is None else self._opened[0].requests

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of what was asked so far, each a sentence."""
        undated = (
            f"`{url}`: does not say when files of {_listed(names)} were uploaded, so they are left out as too new"
            for url, names in sorted(self._undated.items())
        )
        refused = (
            f"`{url}`: answers 403 for {_listed(names)}, which counts as not having them"
            for url, names in sorted(self._refused.items())
        )
        trouble = self._cache.trouble
        return (*undated, *refused, *([trouble] if trouble is not None else []))

    # The catalogue

    def expect(self, names: Iterable[str]) -> None:
        """Fetch the pages of these packages side by side. Raises nothing."""
        waiting = [
            (name, partial(self.releases, name))
            for name in dict.fromkeys(map(normalise, names))
            if name not in self._held
            and not all(self._is_at_hand(location, name) for location in self._locations(name))
        ]
        self._side_by_side(waiting)

    def expect_requirements(self, releases: Iterable[Release]) -> None:
        """Fetch the metadata of these releases side by side. Raises nothing."""
        waiting = [
            (f"{each_release.name} {each_release.version}", partial(self.requires, each_release))
            for each_release in {(release.name, release.version): release for release in releases}.values()
            if not self._required_at_hand(normalise(each_release.name), public(each_release.version))
        ]
        self._side_by_side(waiting)

    def releases(self, name: str) -> tuple[Release, ...]:
        """All releases of a package, from low to high; none where there is no package of that name.

        Raises:
            IndexUnavailable: if it could not be found out.
        """
        name = normalise(name)
        if name not in self._found:
            found = []
            for location, one in self._of(name):
                if self._before is None:
                    found.append(one.releases)
                else:
                    early, undated = one.before(self._before)
                    found.append(early)
                    if undated:
                        self._undated.setdefault(named(location.url), set()).add(name)
            self._found[name] = merged(found)
        return self._found[name]

    def release(self, name: str, version: Version) -> Release | None:
        """One release of a package; None where there is no such release.

        Raises:
            IndexUnavailable: if it could not be found out.
        """
        return next((release for release in self.releases(name) if release.version == version), None)

    def requires(self, release: Release) -> tuple[str, ...] | None:
        """Its Requires-Dist, as written; None where it has no metadata that can be read without building it.

        Raises:
            IndexUnavailable: if it could not be found out.
        """
        name, version = normalise(release.name), public(release.version)
        return self._required.get((name, version), lambda: self._requires(name, version))

    def distributions(self, name: str, version: Version) -> tuple[Distribution, ...]:
        """The files of one release, with their hashes; none where there is no such release.

        Args:
            name: of the package.
            version: with or without local label; with one, only the files of that build.

        Raises:
            IndexUnavailable: if it could not be found out.
        """
        name = normalise(name)
        files: dict[tuple[str, tuple[tuple[str, str], ...]], Distribution] = {}
        for _, one in self._of(name):
            for file in one.files(public(version)):
                if self._before is None or (file.uploaded is not None and file.uploaded < self._before):
                    files.setdefault((file.filename, tuple(sorted(file.hashes.items()))), file)
        if version.local is None:
            return tuple(files.values())
        return tuple(file for file in files.values() if version_of(file.filename, name) == version)

    def open_file(self, file: Distribution, limit: int) -> IO[bytes]:
        """A wheel or an sdist, to be read; a wheel is fetched as far as it is read.

        Args:
            file: one of :meth:`distributions`.
            limit: how many bytes may be fetched.

        Raises:
            IndexUnavailable: if it cannot be read.
        """
        from gradcompat.index.release_files import open_release_file

        return open_release_file(self._connected[0], file, limit)

    # Pages

    def _locations(self, name: str) -> tuple[IndexLocation, ...]:
        return self._tied.get(name) or (*self._indexes, *self._links)

    def _of(self, name: str) -> Iterator[tuple[IndexLocation, Listing]]:
        """What there is of a package, index by index."""
        if name in self._held:
            raise IndexUnavailable(self._held[name])
        found = False
        for location in self._locations(name):
            if found and self._strategy == "first" and not location.find_links and name not in self._tied:
                continue
            one = self._listings.get((location, name), partial(self._listing, location, name))
            if one is not None:
                found = True
                yield location, one

    def _listing(self, location: IndexLocation, name: str) -> Listing | None:
        """What one index has of a package; None if it has no such package."""
        if location.local:
            files = local_files(location, name, self._limits.page)
            return listing(name, files) if files else None
        if location.find_links:
            pages = self._pages.get(location, lambda: self._page_of_links(location))
            files = tuple(pages.get(first_word(name), ()))
            return listing(name, files) if files else None
        url = location.page(name)
        entry = self._cache.read("pages", url)
        if entry is not None and self._is_fresh(entry):
            return _kept(name, entry)
        page = self._ask(url, entry, name)
        if page is None:
            self._cache.write("pages", url, [], {"missing": "yes"})
            return None
        if isinstance(page, Entry):
            return _kept(name, page)
        one = listing(name, page.files)
        if one.empty and any(file.filename.endswith(".whl") for file in page.files):
            raise IndexUnavailable("lists files of other packages only", path=named(url))
        self._cache.write("pages", url, one.parts, page.meta)
        return one

    def _page_of_links(self, location: IndexLocation) -> Mapping[str, Sequence[Distribution]]:
        """The files of a page of any packages, by the first word of their names."""
        url = location.url
        entry = self._cache.read("links", url)
        page = entry if entry is not None and self._is_fresh(entry) else self._ask(url, entry, None)
        if isinstance(page, Entry):
            files = unpacked(page.parts[0])
        else:
            files = page.files if page is not None else ()
            self._cache.write("links", url, [packed(files)], page.meta if page is not None else {})
        by_word: dict[str, list[Distribution]] = {}
        for file in files:
            by_word.setdefault(first_word(file.filename), []).append(file)
        return by_word

    def _ask(self, url: str, entry: Entry | None, name: str | None) -> _Page | Entry | None:
        """A page as it is now; the entry, if it is still that; None if there is no page."""
        headers = {"Accept": ACCEPT}
        accepted = [200, 404, 410]
        for header, key in (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified")):
            if entry is not None and key in entry.meta:
                headers[header] = entry.meta[key]
                accepted.append(304)
        # Some indexes refuse to say what they do not have; as long as another one is asked, that is no reason to stop.
        several = len(self._indexes) > 1 and name is not None
        answer = self._connected[0].get(
            url, limit=self._limits.page, headers=headers, accepted=[*accepted, 403] if several else accepted
        )
        if answer.status == 304:
            self._cache.confirm("links" if name is None else "pages", url)
            return entry
        if answer.status == 403 and name is not None:
            self._refused.setdefault(named(url.removesuffix(f"{name}/")), set()).add(name)
        if answer.status != 200:
            return None
        try:
            files = read_page(answer.content, answer.headers.get("content-type", ""), answer.url, name)
        except ValueError as error:
            raise IndexUnavailable(str(error), path=named(url)) from None
        meta = {key: answer.headers[key] for key in ("etag", "last-modified") if key in answer.headers}
        return _Page(files, meta)

    def _is_fresh(self, entry: Entry) -> bool:
        return 0 <= entry.age < self._limits.fresh

    def _is_at_hand(self, location: IndexLocation, name: str) -> bool:
        """Can it be told without asking anybody what an index has of a package?"""
        if location.local or (location, name) in self._listings or (location.find_links and location in self._pages):
            return True
        if location.find_links:
            entry = self._cache.read("links", location.url)
            return entry is not None and self._is_fresh(entry)
        entry = self._cache.read("pages", location.page(name))
        if entry is None or not self._is_fresh(entry):
            return False
        self._listings.put((location, name), _kept(name, entry))
        return True

    # Metadata

    def _requires(self, name: str, version: Version) -> tuple[str, ...] | None:
        files = best_first(self.distributions(name, version), name, self._target)
        if not files:
            raise IndexUnavailable(f"{self.described} has no `{name}` {version}")
        key = _key(files[0])
        kept = None if key is None else self._cache.read("metadata", key)
        if kept is not None:
            return _decoded(kept)
        found = self._connected[1].read(name, version, files)
        if key is not None:
            self._cache.write("metadata", key, [json.dumps(found).encode()])
        return found

    def _required_at_hand(self, name: str, version: Version) -> bool:
        if (name, version) in self._required:
            return True
        if not all(self._is_at_hand(location, name) for location in self._locations(name)):
            return False
        try:
            files = best_first(self.distributions(name, version), name, self._target)
        except IndexUnavailable:
            return True  # which is what there is to say
        key = _key(files[0]) if files else None
        if key is None:
            return True
        kept = self._cache.read("metadata", key)
        if kept is not None:
            self._required.put((name, version), _decoded(kept))
        return kept is not None

    # Asking

    @property
    def _connected(self) -> tuple[Transport, RequirementsReader]:
        with self._lock:
            if self._opened is None:
                from gradcompat.index.requirements import RequirementsReader
                from gradcompat.index.transport import Transport

                transport = Transport(
                    credentials=self._credentials,
                    limits=self._limits,
                    certificates=self._certificates,
                    sleep=self._sleep,
                )
                self._opened = transport, RequirementsReader(transport, self._limits)
            return self._opened

    def _side_by_side(self, jobs: Sequence[tuple[str, Callable[[], object]]]) -> None:
        """Do them all; what goes wrong is told to those who ask for the result."""
        if not jobs:
            return
        pool = ThreadPoolExecutor(max_workers=min(len(jobs), self._limits.connections))
        try:
            running = {pool.submit(job): what for what, job in jobs}
            for done, future in enumerate(as_completed(running), start=1):
                error = future.exception()
                if error is not None and not isinstance(error, IndexUnavailable):
                    raise error
                if self._progress is not None:
                    self._progress(done, len(jobs), running[future])
        except BaseException:
            # Without this, a user who interrupts would wait for everything that was begun.
            self.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()


@dataclass(frozen=True, slots=True)
class _Page:
    """What an index answered: the files, and what makes asking again cheap."""

    files: tuple[Distribution, ...]
    meta: Mapping[str, str]


def _kept(name: str, entry: Entry) -> Listing | None:
    return None if "missing" in entry.meta else Listing(name, entry.parts[0], entry.parts[1])


def _key(file: Distribution) -> str | None:
    """Under which the metadata of a file is kept; None for files of this machine, which may change."""
    if file.url.lower().startswith("file:"):
        return None
    return " ".join((named(file.url), *(f"{name}={digest}" for name, digest in sorted(file.hashes.items()))))


def _decoded(entry: Entry) -> tuple[str, ...] | None:
    lines = json.loads(entry.parts[0])
    return None if lines is None else tuple(lines)


def _described(indexes: Sequence[IndexLocation], links: Sequence[IndexLocation]) -> str:
    if len(indexes) == 1:
        return f"the package index `{named(indexes[0].url)}`"
    if indexes:
        return f"{len(indexes)} package indexes"
    return " and ".join(f"`{named(link.url)}`" for link in links) or "no package index"


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    shown = ", ".join(f"`{name}`" for name in ordered[:5])
    return shown if len(ordered) <= 5 else f"{shown} and {len(ordered) - 5} more"
