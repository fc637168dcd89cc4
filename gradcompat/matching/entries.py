"""The entries of an environment by the canonical names of their packages, those that are alike together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from packaging.version import Version

from gradcompat.matching.forks import releases_of
from gradcompat.matching.verdict import Verdict
from gradcompat.model.environment import Package
from gradcompat.model.issue import PackageTerm
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.startup.lazy_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradcompat.requirements.markers import Release

FEW = 8  # entries or choices that are looked through sooner than prepared
_LONGEST_SPECIFIER = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Under which names packages go.

    Attributes:
        families: another name of the same code → the canonical one (``lightning`` → ``pytorch-lightning``).
        conda: conda name → PyPI name, where they differ (``pytorch`` → ``torch``).
        built_for: package → the one that its compiled library is linked with (``torchvision`` → ``torch``). Which
            releases go together is a fact of each build, and conda builds its own.
    """

    families: Mapping[str, str]
    conda: Mapping[str, str]
    built_for: Mapping[str, str] = field(default_factory=dict)

    def canonical(self, package: Package) -> str:
        name = package.name
        if package.source == "conda":
            name = self.conda.get(name, normalise(name))
        return self.families.get(name, name)


def entries_by_name(packages: Iterable[Package], names: Names) -> dict[str, list[Package]]:
    """The entries of each package, by its canonical name."""
    found: dict[str, list[Package]] = {}
    for package in packages:
        found.setdefault(names.canonical(package), []).append(package)
    return found


class Listing:
    """The entries of an environment by canonical name; what terms say of them is the same in all runs of it."""

    def __init__(self, entries: Mapping[str, Sequence[Package] | Listed]) -> None:
        self.packages = {name: found if isinstance(found, Listed) else Listed(found) for name, found in entries.items()}

    @classmethod
    def of(cls, packages: Iterable[Package], names: Names) -> Listing:
        return cls(entries_by_name(packages, names))

    @property
    def counts(self) -> dict[str, int]:
        """How many entries each package has."""
        return {name: len(listed.entries) for name, listed in self.packages.items()}

    def moved(self, packages: Mapping[str, Listed]) -> Listing:
        """The same with other entries of some packages."""
        listing = object.__new__(Listing)
        listing.packages = {**self.packages, **packages}
        return listing


class Listed:
    """The entries of one package, those that are alike together, and the choices that terms leave of them."""

    def __init__(self, entries: Sequence[Package]) -> None:
        self.alike = _alike(entries)
        self.entries = tuple(entry for group in self.alike for entry in group)
        self.choices: dict[int, tuple[PackageTerm, Choices]] = {}  # by the identity of a term

    def perhaps_in(self, versions: VersionSet) -> Sequence[tuple[Package, ...]]:
        """The groups without those that surely are none of these versions, where there are so many that it pays."""
        if len(self.alike) <= FEW:
            return self.alike
        releases, groups, others = self._in_order
        found = sorted(
            [
                *others,
                *(group for places in versions.places_in(releases) for group in groups[places.start : places.stop]),
            ]
        )
        return [self.alike[group] for group in found]

    @cached_property
    def _in_order(self) -> tuple[list[Version], list[int], list[int]]:
        """The releases of the groups from low to high, these groups, and those that are no release, by their index."""
        windows = [
            None if one.version is None else locate(one.version, unreleased=one.unreleased) for one, *_ in self.alike
        ]
        exact = sorted(
            (window.low, group) for group, window in enumerate(windows) if window is not None and window.exact
        )
        groups = [group for _, group in exact]
        return [low for low, _ in exact], groups, sorted(set(range(len(windows))).difference(groups))

    @cached_property
    def releases(self) -> frozenset[Release]:
        """The versions of Python at which the markers of the entries change."""
        return releases_of(self.entries)


def _alike(entries: Sequence[Package]) -> tuple[tuple[Package, ...], ...]:
    """The entries of one package in groups that are one choice: they agree in all that decides about an entry."""
    if len(entries) == 1:
        return ((entries[0],),)
    groups: dict[object, list[Package]] = {}
    for entry in entries:
        same = (
            entry.name,
            entry.version,
            entry.specifier,
            entry.marker,
            entry.reached,
            entry.forks,
            entry.unreleased,
            entry.build,
        )
        groups.setdefault(same, []).append(entry)
    return tuple(map(tuple, groups.values()))


@dataclass(slots=True)
class Choice:
    """Entries of one package that differ in nothing that decides, and the verdict on them; none if none is listed."""

    entries: tuple[Package, ...]
    verdict: Verdict


@dataclass(slots=True)
class Choices:
    """All entries of the package of a term, and those that it may be about."""

    entries: tuple[Package, ...]
    possible: tuple[Choice, ...]


@lru_cache(maxsize=1024)
def allowed_versions(specifier: str | None) -> VersionSet | None:
    """The versions that a specifier allows; None where none is given or it cannot be read."""
    if specifier is None or len(specifier) > _LONGEST_SPECIFIER:
        return None
    try:
        return VersionSet.parse(specifier)
    except ValueError:
        return None
