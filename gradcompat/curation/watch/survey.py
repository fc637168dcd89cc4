"""A survey of a package: its last releases are compared, pair by pair, by their tables, modules and notes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from email.parser import HeaderParser
from itertools import pairwise
from pathlib import Path

from packaging.version import Version

from gradcompat.curation.folder_lock import alone
from gradcompat.curation.module_store import FileKey, ModuleStore
from gradcompat.curation.reading_campaign import Reading
from gradcompat.curation.release_row import READER, ReleaseRow
from gradcompat.curation.watch.candidate import Candidate, grouped, ranked
from gradcompat.curation.watch.release_notes import Entry, changelogs, title_changes
from gradcompat.curation.watch.release_notes import entries as entries_of
from gradcompat.curation.watch.source_changes import source_changes, trains
from gradcompat.curation.watch.table_changes import table_changes
from gradcompat.errors import IndexUnavailable, KnowledgeError
from gradcompat.files.regular_files import read_regular
from gradcompat.index.archives import metadata_of_wheel
from gradcompat.index.client import PackageIndex
from gradcompat.messages import counted
from gradcompat.model.release import Release
from gradcompat.releases.table import ReleaseTable

_KEPT = "candidates.json"
_MOST_FETCHED = 256 * 2**20
_MOST_METADATA = 4 * 2**20
_REPOSITORY = re.compile(r"https://(?:www\.)?github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?(?:[/#].*)?", re.IGNORECASE)
_LABEL = re.compile(r"source|repository|code|github|home", re.IGNORECASE)


@dataclass(kw_only=True)
class Survey:
    """What is compared of one package, and what came of it.

    Attributes:
        package: its normalised name.
        releases: those that are compared, from low to high.
        rows: the folder that fetched modules are kept in.
        say: is told what happens, a sentence at a time.
        tag: how a version is written in a tag of the repository, with ``{}`` in its place.
        candidates: what was found, ranked.
        seen: what was compared, each a phrase.
        gaps: what could not be, each a sentence.
    """

    package: str
    releases: Sequence[Release]
    rows: Path
    say: Callable[[str], object]
    tag: str = "v{}"
    candidates: list[Candidate] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    _found: list[Candidate] = field(default_factory=list)
    _repository: str | None = None

    @property
    def pairs(self) -> list[tuple[Version, Version]]:
        """Neighbouring releases."""
        versions = [release.version for release in self.releases]
        return list(pairwise(versions))

    def compare_tables(self, table: ReleaseTable | None) -> None:
        """Compare what the table of the package says of each pair."""
        hint = f"`gradcompat knowledge read {self.package}` reads them"
        if table is None:
            self.gaps.append(f"there is no table of the releases of {self.package}: {hint}")
            return
        read = [pair for pair in self.pairs if set(pair) <= set(table.versions)]
        for before, after in read:
            self._found += table_changes(table, before, after)
        if read:
            self.seen.append(f"the table of {counted(len(read), 'pair')} of releases")
        missing = [str(version) for _, version in self.pairs if version not in table.versions]
        if missing:
            self.gaps.append(f"the table of {self.package} has no {', '.join(missing)}: {hint}")

    def compare_modules(self, index: PackageIndex) -> None:
        """Fetch the modules of the releases, and compare those that train."""
        reading = Reading(
            package=self.package,
            releases=self.releases,
            catalogue=index,
            rows=self.rows,
            folder=self.rows,
            say=self.say,
        )
        with alone(self.rows / self.package, wait=False):
            store = ModuleStore(self.rows / self.package / "modules.sqlite", READER)
            try:
                rows = reading.fetched(store)
                count = sum(self._compare(rows, pair, store) for pair in self.pairs if set(pair) <= rows.keys())
            finally:
                store.close()
        self.gaps += [f"{self.package} {version} could not be fetched: {why}" for version, why in reading.lost.items()]
        unread = {version: row.unread for version, row in rows.items() if row.unread is not None}
        self.gaps += [f"{self.package} {version} cannot be read: {why}" for version, why in unread.items()]
        self.seen.append(f"{counted(count, 'changed module')} that train" + ("s" if count == 1 else ""))

    def _compare(self, rows: dict[Version, ReleaseRow], pair: tuple[Version, Version], store: ModuleStore) -> int:
        """Compare the modules of a pair; how many of those that train differ."""
        older, newer = (rows[version].files for version in pair)
        names = (str(pair[0]), str(pair[1]))
        changed = [
            (module, old, new)
            for module, new in newer.items()
            if trains(module) and new is not None and (old := older.get(module)) is not None and old != new
        ]
        for module, old, new in changed:
            try:
                sources = self._source(store, old), self._source(store, new)
                self._found += source_changes(self.package, module, *sources, names)
            except (ValueError, KnowledgeError) as error:
                self.gaps.append(f"{module} of {self.package} {names[0]} and {names[1]} was not compared: {error}")
        return len(changed)

    def _source(self, store: ModuleStore, key: FileKey) -> bytes:
        return store.source(self.package, key)

    def look_up_repository(self, index: PackageIndex) -> None:
        """Find the address of the repository in the metadata of the newest release."""
        files = index.distributions(self.package, self.releases[-1].version)
        wheel = next((file for file in files if file.filename.endswith(".whl")), None)
        if wheel is None:
            return
        try:
            with index.open_file(wheel, _MOST_FETCHED) as opened:
                self._repository = repository_of(metadata_of_wheel(opened, _MOST_METADATA))
        except ValueError:
            self.gaps.append(f"the metadata of {wheel.filename} cannot be read, so there are no links")

    def read_changelog(self, index: PackageIndex) -> None:
        """Take the titles of the changelogs in the newest sdist."""
        version = self.releases[-1].version
        files = index.distributions(self.package, version)
        sdist = next((file for file in files if file.filename.endswith(".tar.gz")), None)
        found: dict[str, str] = {}
        if sdist is not None:
            try:
                with index.open_file(sdist, _MOST_FETCHED) as opened:
                    found = changelogs(opened)
            except ValueError as error:
                self.gaps.append(f"{sdist.filename} {error}")
                return
        if not found:
            self.seen.append("no changelog, since the sdist has none (`--notes` takes release notes)")
        for path, text in found.items():
            self.take_notes(list(entries_of(text)), path)

    def take_notes(self, notes: list[Entry], source: str) -> None:
        """Take the titles of release notes.

        Args:
            notes: their entries.
            source: where they are from, for the reader.
        """
        self.seen.append(f"{counted(len(notes), 'line')} of {source}")
        self._found += title_changes(self.package, notes, self.pairs, source, self._repository)

    def rank(self) -> None:
        """Rank what was found, with links."""
        self.candidates = ranked(grouped(replace(one, links=(*one.links, *self._compared(one))) for one in self._found))

    def _compared(self, candidate: Candidate) -> tuple[str, ...]:
        if self._repository is None:
            return ()
        tags = "...".join(self.tag.replace("{}", version) for version in (candidate.before, candidate.after))
        return (f"{self._repository}/compare/{tags}",)

    def keep(self) -> None:
        """Keep the candidates, so that verdicts find them.

        Raises:
            KnowledgeError: if they cannot be written.
        """
        path = self.rows / self.package / _KEPT
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps([asdict(candidate) for candidate in self.candidates]), "utf-8")
        except OSError as error:
            raise KnowledgeError(f"cannot be written: {error.strerror}", path=str(path)) from None


def kept_candidates(rows: Path) -> Iterator[Candidate]:
    """What the last survey of each package found.

    Raises:
        KnowledgeError: if it cannot be read.
    """
    for path in sorted(rows.glob(f"*/{_KEPT}")):
        try:
            for one in json.loads(read_regular(path)):
                removed, added, links = (tuple(one.pop(name)) for name in ("removed", "added", "links"))
                yield Candidate(**one, removed=removed, added=added, links=links)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            hint = "run `gradcompat knowledge watch PACKAGE` again"
            raise KnowledgeError("holds no candidates", path=str(path), hint=hint) from None


def repository_of(metadata: bytes) -> str | None:
    """The repository on GitHub that metadata of a release names, if it names one."""
    message = HeaderParser().parsestr(metadata.decode("utf-8", "replace"))
    labelled = [str(line).partition(",")[::2] for line in message.get_all("Project-URL", [])]
    addresses = [address for label, address in labelled if _LABEL.search(label)]
    addresses += [str(message.get("Home-page", "")), *(address for _, address in labelled)]
    for address in addresses:
        found = _REPOSITORY.fullmatch(address.strip())
        if found is not None:
            return f"https://github.com/{found[1]}/{found[2]}"
    return None


def last_releases(releases: Sequence[Release], count: int) -> list[Release]:
    """The last final releases, and the one before them.

    Raises:
        IndexUnavailable: if there are no two.
    """
    final = [one for one in releases if not one.version.is_prerelease and not one.yanked]
    if len(final) < 2:
        name = releases[0].name if releases else "the package"
        raise IndexUnavailable(f"{name} has no two final releases to compare")
    return sorted(final, key=lambda one: one.version)[-count - 1 :]
