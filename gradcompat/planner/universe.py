"""The environment as the search sees it: what may move, where to, and what requires what.

Everything is looked up when it is first needed and remembered, so that a plan asks for the metadata of the releases
that come into question and for no others. What could not be looked up is remembered too, and becomes a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from packaging.version import InvalidVersion, Version

from gradcompat.budget import Budget
from gradcompat.errors import IndexUnavailable
from gradcompat.matching.entries import Listing, Names
from gradcompat.matching.forks import Forks
from gradcompat.matching.view import View
from gradcompat.model.environment import Environment, Package
from gradcompat.model.issue import Issue, PackageTerm, VersionRemedy
from gradcompat.model.release import Catalogue, Release, Requirers
from gradcompat.planner.issue_index import IssueIndex
from gradcompat.planner.request import DEFAULT_STEPS, Request
from gradcompat.planner.requirements import Need, Needs, allows, needs_of
from gradcompat.planner.target import Fit, fit, is_there
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import ABOVE, BELOW, VersionSet, parse_version, step, upward
from gradcompat.startup.lazy_dataclasses import dataclass

PATCH, MINOR, MAJOR = 0, 1, 2

# Steps: reading a release of a catalogue, comparing it with what is there, reading a line of Requires-Dist.
_RELEASE, _CANDIDATE, _LINE = 8, 12, 6

# Not moved unless nothing else works: a release would take the place of what somebody chose to build or check out.
_REHOMED = frozenset({"git", "url", "path", "directory", "editable"})
# The project itself, and what is built with it.
_OWN = frozenset({"virtual"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A release that a package could move to.

    Attributes:
        written: the version as text, which takes long to make.
        fit: how it gets onto the target; None where that could not be looked up.
        step: how far the number changes: PATCH, MINOR or MAJOR.
        down: it is lower than what is there.
        distance: how many releases further it is; the nearest one is 1, and of another minor version that is newer the
            last patch comes first.
        off_direct: the project itself asks for other versions.
    """

    version: Version
    written: str
    release: Release | None
    fit: Fit | None
    step: int
    down: bool
    distance: int
    off_direct: bool


class Universe:
    """One environment on one target, with the releases and requirements that a catalogue has for it.

    Where one package alone may move, ``requirers`` says whose requirements have to be read; without it all are.
    Where the same packages were matched before, ``seen`` has what was found of them.
    """

    def __init__(
        self,
        environment: Environment,
        issues: Sequence[Issue],
        names: Names,
        catalogue: Catalogue,
        request: Request,
        budget: Budget | None = None,
        requirers: Requirers | None = None,
        seen: Sequence[View] = (),
    ) -> None:
        self.environment = environment
        self.names = names
        self.catalogue = catalogue
        self.request = request
        self.budget = Budget(DEFAULT_STEPS) if budget is None else budget
        self.cut_off = False  # has a search ended because its steps were taken?
        self.forks = seen[0].forks.renewed() if seen else Forks(environment.conflicts)
        self.issues = issues
        here: dict[str, list[Package]] = {}
        elsewhere: dict[str, list[Package]] = {}
        for package in environment.packages:
            group = here if is_there(package, request.target) else elsewhere
            group.setdefault(self.name_of(package), []).append(package)
        self.entries = {name: tuple(here[name]) for name in sorted(here)}
        self.elsewhere = {name: tuple(elsewhere[name]) for name in sorted(elsewhere)}
        self.spoken_of = {
            term.name
            for issue in issues
            for combination in issue.affected
            for term in combination.terms
            if isinstance(term, PackageTerm)
        }
        self.unavailable: dict[str, str] = {}
        self.unread: dict[tuple[str, str], str] = {}
        self.unreadable: dict[tuple[str, str], tuple[str, ...]] = {}
        self._rehomed = frozenset(
            name
            for name, entries in self.entries.items()
            if any(entry.source in _REHOMED or entry.unreleased for entry in entries)
        )
        self._current: dict[str, tuple[Version, ...]] = {}
        self._by_canonical: dict[str, list[str]] = {}
        for name in self.entries:
            self._by_canonical.setdefault(self.canonical(name), []).append(name)
        # All entries, wherever they are installed.
        self.whole = seen[0].listing if seen else Listing.of(environment.packages, names)
        # The entries on the target, by the names that records have for them.
        self.listing = self.whole if not elsewhere else self._listed_here()
        self._views = {(id(view.environment), id(self.whole)): view for view in seen}
        self._releases: dict[str, tuple[Release, ...]] = {}
        self._release_at: dict[tuple[str, Version], Release | None] = {}
        self._fits: dict[tuple[str, Version], Fit | None] = {}
        self._candidates: dict[str, tuple[Candidate, ...]] = {}
        self._needs: dict[tuple[str, str], Needs | None] = {}
        self._asked: dict[tuple[str, Version], list[tuple[str, Need]]] = {}
        # What an environment itself says of requirements may be anything.
        self._requirers = None if request.known else requirers
        self._read: set[str] | None = None
        self._dependents: dict[str, dict[tuple[str, Need], None]] = {}
        self._met: dict[Need, bool] = {}
        self.extras: dict[str, frozenset[str]] = {}
        self.missing: dict[tuple[str, str], Need] = {}

    @cached_property
    def index(self) -> IssueIndex:
        """The issues by what they speak of."""
        return IssueIndex(self.issues, self.names.families, self.request)

    def view_of(self, run: Environment, *, whole: bool) -> View:
        """A run with the entries on the target, or with the whole of them; it remembers what is found in it."""
        listing = self.whole if whole else self.listing
        key = (id(run), id(listing))
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = View(run, self.names, self.forks, listing)
        return view

    def _listed_here(self) -> Listing:
        """The listing of the target; what is said of a package all of whose entries are there is said once."""
        apart = {self.canonical(name) for name in self.elsewhere}
        return Listing({
            canonical: [entry for name in names for entry in self.entries[name]]
            if canonical in apart
            else self.whole.packages[canonical]
            for canonical, names in self._by_canonical.items()
        })  # fmt: skip

    # Names

    def name_of(self, package: Package) -> str:
        """The name that a package index knows it by; families are several names there."""
        if package.source == "conda":
            return self.names.conda.get(package.name, normalise(package.name))
        return package.name

    def canonical(self, name: str) -> str:
        """The name that the knowledge has for it."""
        return self.names.families.get(name, name)

    def names_for(self, name: str) -> list[str]:
        """The names under which a package that a record speaks of is there."""
        return self._by_canonical.get(self.canonical(name), [])

    # What is there

    def listed(self, name: str) -> bool:
        """Is it installed on the target?"""
        return name in self.entries

    def current(self, name: str) -> tuple[Version, ...]:
        """The versions that are there, with local labels; none for a range, or for what is no version."""
        if name not in self._current:
            self._current[name] = _versions(self.entries.get(name, ()))
        return self._current[name]

    def reference(self, name: str) -> Version | None:
        """Where a move starts: the version that is there, or the newest that a range allows."""
        current = self.current(name)
        if current:
            return max(map(_public, current))
        allowed = self.allowed(name)
        if allowed is None:
            return None
        return next((release.version for release in reversed(self.fitting(name)) if release.version in allowed), None)

    def allowed(self, name: str) -> VersionSet | None:
        """What a range allows; None for what has a version, or for a range that cannot be read."""
        for entry in self.entries.get(name, ()):
            if entry.version is None and entry.specifier is not None:
                try:
                    return VersionSet.parse(entry.specifier)
                except ValueError:
                    return None
        return None

    def rehomed(self, name: str) -> bool:
        """Would a move replace something that does not come from an index?"""
        return name in self._rehomed

    def fixed(self, name: str) -> bool:
        """Must it stay as it is?"""
        return name in self.request.keep or any(entry.source in _OWN for entry in self.entries.get(name, ()))

    def from_conda(self, name: str) -> bool:
        """Is it a package of conda, whose requirements are not those of the index?"""
        return any(entry.source == "conda" for entry in self.entries.get(name, ()))

    # Releases

    def releases(self, name: str) -> tuple[Release, ...]:
        """All releases, from low to high; none where the catalogue has none or did not answer."""
        if name not in self._releases:
            try:
                self._releases[name] = self.catalogue.releases(name)
            except IndexUnavailable as error:
                self.unavailable[name] = str(error)
                self._releases[name] = ()
            self.budget.take(1 + _RELEASE * len(self._releases[name]))
        return self._releases[name]

    def _release(self, name: str, version: Version | None) -> Release | None:
        """One release; the others are read only where they have to be."""
        if version is None or name in self.unavailable:
            return None
        key = (name, version)
        if key not in self._release_at:
            try:
                self._release_at[key] = self.catalogue.release(name, version)
            except IndexUnavailable as error:
                self.unavailable[name] = str(error)
                self._release_at[key] = None
            self.budget.take(1 + _RELEASE)
            if self._release_at[key] is None:
                self.releases(name)  # has it others, or none at all?
        return self._release_at[key]

    def without_releases(self) -> frozenset[str]:
        """What is there, was looked up, and has no release in the catalogue."""
        return frozenset(
            name
            for name, found in self._releases.items()
            if not found and name not in self.unavailable and self.listed(name)
        )

    def fit(self, release: Release) -> Fit | None:
        """How it gets onto the target."""
        key = (release.name, release.version)
        if key not in self._fits:
            self._fits[key] = fit(release, self.request.target)
        return self._fits[key]

    def fitting(self, name: str) -> list[Release]:
        """Releases that anybody would be given without asking for more: final, not withdrawn, fit for the target."""
        return [
            release
            for release in self.releases(name)
            if not release.yanked and not release.version.is_prerelease and self.fit(release) is not None
        ]

    def candidates(self, name: str) -> tuple[Candidate, ...]:
        """The releases that it could move to, from low to high."""
        if name not in self._candidates:
            self.budget.take(_CANDIDATE * len(self.releases(name)))
            self._candidates[name] = tuple(self._found_candidates(name))
        return self._candidates[name]

    def _found_candidates(self, name: str) -> Iterable[Candidate]:
        releases: dict[Version, Release | None] = {release.version: release for release in self.releases(name)}
        if name in self.unavailable:
            releases = dict.fromkeys(self._versions_of_records(name))
        current = {_public(version) for version in self.current(name)}
        prereleases = self.request.prereleases or any(version.is_prerelease for version in current)
        yanked = any(
            release is not None and release.yanked for version, release in releases.items() if version in current
        )
        reference = self.reference(name)
        direct = None if self.request.direct is None else self.request.direct.get(name)
        chosen: list[tuple[Version, Release | None, Fit | None]] = []
        for version, release in sorted(releases.items(), key=lambda item: item[0]):
            fits = None if release is None else self.fit(release)
            if (
                (release is None or fits is not None)
                and (yanked or release is None or not release.yanked)
                and (prereleases or not version.is_prerelease)
            ):
                chosen.append((version, release, fits))
        distances = _distances([version for version, _, _ in chosen], reference)
        for version, release, fits in chosen:
            if current == {version}:
                continue
            yield Candidate(
                version,
                str(version),
                release,
                fits,
                _step(reference, version),
                reference is not None and version < reference,
                distances[version],
                direct is not None and version not in direct,
            )

    def _versions_of_records(self, name: str) -> set[Version]:
        """Versions that the records name: where a range ends, the release that ended it was published."""
        canonical = self.canonical(name)
        found: set[Version] = set()
        for issue in self.issues:
            sets = [
                (term.versions, BELOW) for combination in issue.affected for term in combination.terms
                if isinstance(term, PackageTerm) and term.name == canonical
            ]  # fmt: skip
            for versions, side in sets:
                found |= {high[0] for _, high in versions.intervals if high is not None and high[1] == side}
            for remedy in issue.remedies:
                if isinstance(remedy, VersionRemedy) and self.canonical(remedy.package) == canonical:
                    found |= {low[0] for low, _ in remedy.versions.intervals if low is not None and low[1] == BELOW}
                    found |= {high[0] for _, high in remedy.versions.intervals if high is not None and high[1] == ABOVE}
        return found - {Version(one) for one in self.request.yanked.get(canonical, ())}

    # Requirements

    def expect_requirements(self, name: str, versions: Iterable[Version]) -> None:
        """The requirements of these releases will be asked for."""
        wanted = set(versions)
        self.catalogue.expect_requirements(
            release
            for release in self.releases(name)
            if release.version in wanted and not self._is_known(name, str(release.version))
        )

    def _is_known(self, name: str, version: str) -> bool:
        return (name, version) in self._needs or (name, version) in self.request.known

    def is_read(self, name: str, version: str) -> bool:
        """Have its requirements been asked for already, and found?"""
        return self._needs.get((name, version)) is not None

    def needs(self, name: str, version: str) -> Needs | None:
        """What a release requires on the target; None where that could not be found out."""
        key = (name, version)
        if key not in self._needs:
            lines = None
            if self.budget.spent:
                self.unread[key] = f"the budget of {self.budget.most:,} steps is spent"
            elif (lines := self.request.known.get(key)) is None:
                lines = self._looked_up(name, version)
            self.budget.take(1 + _LINE * len(lines or ()))
            self._needs[key] = None if lines is None else needs_of(lines, self.request.target)
            if (found := self._needs[key]) is not None and found.unreadable:
                self.unreadable[key] = found.unreadable
        return self._needs[key]

    def _looked_up(self, name: str, version: str) -> tuple[str, ...] | None:
        release = self._release(name, parse_version(version))
        if release is None:
            self.unread[name, version] = self.unavailable.get(name, "no index has it")
            return None
        try:
            lines = self.catalogue.requires(release)
        except IndexUnavailable as error:
            self.unread[name, version] = str(error)
            return None
        if lines is None:
            self.unread[name, version] = "it has no metadata that can be read without building it"
        return lines

    def written(self, name: str) -> tuple[str, ...]:
        """The versions that are there, as they are written."""
        return tuple(
            dict.fromkeys(package.version for package in self.entries.get(name, ()) if package.version is not None)
        )

    def unread_now(self) -> list[str]:
        """What is there and asked about, whose requirements could not be read."""
        return [name for name in self.entries if any((name, one) in self.unread for one in self.written(name))]

    def obscure(self, name: str, candidate: Candidate) -> bool:
        """Was it found that its requirements cannot be read, though it has a wheel or comes new?"""
        if candidate.release is None or (name, candidate.written) not in self.unread:
            return False
        return bool(candidate.release.wheels) or not self.listed(name)

    def needs_now(self, name: str) -> list[tuple[str, tuple[Need, ...]]]:
        """What the versions that are there require, with the extras that are asked for."""
        found = []
        for version in self.written(name):
            if self._asks_about(name, version):
                needs = self.needs(name, version)
                if needs is not None:
                    found.append((version, needs.with_extras(self.extras.get(name, frozenset()))))
                    self.budget.take(1 + len(found[-1][1]))
        return found

    def _asks_about(self, name: str, version: str) -> bool:
        """Does a catalogue know what this entry requires?"""
        if (name, version) in self.request.known:
            return True
        if self.rehomed(name) or name not in self.entries or any(entry.source in _OWN for entry in self.entries[name]):
            return False
        # What conda calls `zlib` is not what the index calls so.
        return not self.from_conda(name) or self.canonical(name) in self.spoken_of

    def asked_by(self, name: str, version: Version, chosen: Mapping[str, Version]) -> Iterator[tuple[str, Need]]:
        """What a release asks for, with what the extras that it newly asks for ask for, and who asks."""
        if (name, version) in self._asked:
            yield from self._asked[name, version]
            return
        found: list[tuple[str, Need]] = []
        asks_more = False
        waiting = [(name, str(version), self.extras.get(name, frozenset()), False)]
        seen: set[tuple[str, frozenset[str]]] = set()
        while waiting:
            asking, at, wanted, only_extras = waiting.pop()
            needs = self.needs(asking, at)
            if needs is None or (asking, wanted) in seen:
                continue
            seen.add((asking, wanted))
            listed = needs.with_extras(wanted)
            self.budget.take(1 + len(listed))
            for need in listed:
                if only_extras and not need.extra:
                    continue
                if need.name != name:
                    found.append((asking, need))
                more = frozenset(need.extras) - self.extras.get(need.name, frozenset())
                asks_more = asks_more or bool(more)
                if more and need.name in chosen:
                    waiting.append((need.name, str(chosen[need.name]), more, True))
                elif more and (current := self.current(need.name)):
                    waiting.append((need.name, str(current[0]), more, True))
        if not asks_more:
            self._asked[name, version] = found
        yield from found

    def dependents(self, name: str) -> tuple[tuple[str, Need], ...]:
        """Who requires it now, and what of it."""
        self._read_needs(() if self._requirers is None else self._requirers.of.get(name, ()))
        return tuple(self._dependents.get(name, ()))

    def lacks(self, name: str, wanted: str) -> bool:
        """Does what is there under a name require another package that is not there?"""
        self._read_needs((name,))
        return (name, wanted) in self.missing

    def _read_needs(self, names: Iterable[str]) -> None:
        """Read what these require now, and before anything else which extras are asked for; without requirers, all."""
        if self._read is None:
            self._read = set()
            self._find_extras(self._there(None if self._requirers is None else self._requirers.asking))
            if self._requirers is None:
                names = self.entries
        elif self._requirers is None:
            return
        for name in self._there(names):
            if name in self._read:
                continue
            self._read.add(name)
            for _, needs in self.needs_now(name):
                for need in needs:
                    if not self.listed(need.name):
                        self.missing[name, need.name] = need
                    elif need.name != name:
                        self._dependents.setdefault(need.name, {})[name, need] = None

    def _there(self, names: Iterable[str] | None) -> list[str]:
        """Which of some packages are there, in order, all if none are named; their requirements will be asked for."""
        found = list(self.entries) if names is None else sorted(self.entries.keys() & set(names))
        asked: dict[str, list[str]] = {}
        for name in found:
            written = [entry.version for entry in self.entries[name] if entry.version is not None]
            asked[name] = [version for version in written if version and self._asks_about(name, version)]
        unknown = [name for name, hits in asked.items() if any(not self._is_known(name, hit) for hit in hits)]
        self.catalogue.expect(unknown)
        self.catalogue.expect_requirements(
            release
            for name in unknown
            for release in (self._release(name, parse_version(one)) for one in asked[name])
            if release is not None
        )
        return found

    def _find_extras(self, names: Iterable[str]) -> None:
        """Which extras of each package are asked for by what is there; extras may ask for extras."""
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            for _, needs in self.needs_now(name):
                for need in needs:
                    asked = self.extras.get(need.name, frozenset())
                    if not asked.issuperset(need.extras):
                        self.extras[need.name] = asked.union(need.extras)
                        waiting.append(need.name)

    def allows_current(self, need: Need) -> bool:
        """Does what is there meet a requirement? A range does if some release in it does."""
        if need not in self._met:
            self._met[need] = self._is_met(need)
        return self._met[need]

    def _is_met(self, need: Need) -> bool:
        current = self.current(need.name)
        if current:
            return all(allows(need.specifier, version) for version in current)
        allowed = self.allowed(need.name)
        if allowed is None or not self.releases(need.name):
            return True
        self.budget.take(len(self.releases(need.name)))
        return any(
            release.version in allowed and allows(need.specifier, release.version)
            for release in self.releases(need.name)
        )


def _public(version: Version) -> Version:
    return Version(version.public) if version.local else version


def _versions(entries: Iterable[Package]) -> tuple[Version, ...]:
    found: dict[Version, None] = {}
    for entry in entries:
        try:
            found[Version(entry.version or "")] = None
        except (InvalidVersion, ValueError):
            continue
    return tuple(found)


def _distances(versions: list[Version], reference: Version | None) -> dict[Version, int]:
    """How many releases come before each one, counted from 1.

    Args:
        versions: from low to high.
        reference: what is there; without it the newest release comes first.
    """
    if reference is None:
        return {version: number for number, version in enumerate(reversed(versions), 1)}
    ways = [version for version in reversed(versions) if version < reference], upward(versions, reference)
    return {reference: 1, **{version: number for way in ways for number, version in enumerate(way, 1)}}


def _step(reference: Version | None, version: Version) -> int:
    """Which part of the number changes."""
    if reference is None:
        return PATCH
    return step(reference, version)
