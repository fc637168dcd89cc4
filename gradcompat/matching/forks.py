"""Can two entries of a lockfile be installed together?

A universal lockfile holds one package several times, each under a marker: by platform, by Python version, by an extra
that conflicts with another. Markers are compared on a grid of environments (:mod:`gradcompat.requirements.markers`)
that has every version of Python at which one of them changes; two entries that are never chosen at one point of it are
taken for alternatives. A marker that cannot be read, or that holds at no point of the grid, excludes nothing.

Extras do not exclude one another, except those that uv has encoded (``extra-8-nanochat-cpu``): it does so only where
the project says that they conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from gradcompat.budget import Budget
from gradcompat.model.environment import Package

if TYPE_CHECKING:
    from gradcompat.requirements.markers import Grid, Marker, Release

# A step is an operation on so many points; a lockfile of 3,000 entries in 50 forks needs a hundredth of these.
MOST_STEPS = 300_000
_POINTS = 512
_ODD = 500  # steps that an atom takes which the reference implementation compares
PLATFORMS = ("linux", "darwin", "win32")
_ANYWHERE = -1  # every bit: has a point in common with anything

Conflicts = tuple[frozenset[str], ...]
_Markers = tuple[str | None, tuple[str, ...]]


class _Spent(Exception):  # not an error: how a comparison ends that needs more steps than there are
    """The steps that are left do not suffice."""


class Forks:
    """Compares entries of one environment, and remembers.

    What needs more steps than there are is not compared: it excludes nothing, and ``budget.spent`` says so.

    Args:
        conflicts: sets of extras of which no two are chosen together. Of encoded extras that stand in none of them
            only one is chosen at a time.
        budget: the steps for all comparisons.
    """

    def __init__(self, conflicts: Conflicts = (), budget: Budget | None = None) -> None:
        self.conflicts = conflicts
        self.budget = Budget(MOST_STEPS) if budget is None else budget
        self._numbers: dict[_Markers, int] = {}
        self._compared: dict[tuple[int, int], bool] = {}
        self._platforms: dict[tuple[int, ...], frozenset[str]] = {}
        self._interpreters: dict[tuple[tuple[int, ...], str], bool] = {}
        self._grids: dict[tuple[frozenset[str], frozenset[Release]], Grid] = {}
        self._held: dict[tuple[str, int], int] = {}  # by the marker and its grid, which is one of those

    def renewed(self) -> Forks:
        """Forks that share what is remembered here, with a budget of their own."""
        forks = Forks(self.conflicts)
        forks._numbers, forks._compared, forks._platforms = self._numbers, self._compared, self._platforms
        forks._interpreters = self._interpreters
        forks._grids, forks._held = self._grids, self._held
        return forks

    def together(self, one: Package, other: Package, releases: frozenset[Release] = frozenset()) -> bool:
        """Is there an environment in which both entries are installed?

        Args:
            one: an entry.
            other: an entry of another package, mostly.
            releases: versions of Python at which entries change that are compared, too: all share a grid with these.
        """
        if one.forks and other.forks and set(one.forks).isdisjoint(other.forks):
            return False
        if one.marker == other.marker and one.reached == other.reached:
            return True
        if not (one.marker or one.reached) or not (other.marker or other.reached):
            return True  # what is installed everywhere goes with all that is installed somewhere
        try:
            # Hashing takes as long as there are markers.
            self._take((len(one.reached) + len(other.reached)) // 32)
            pair = (self._number(one), self._number(other))
            if pair not in self._compared:
                grid = self._grid_of((one, other), releases)
                met = bool(self._points(one, grid) & self._points(other, grid))
                self._compared[pair] = self._compared[pair[::-1]] = met
            return self._compared[pair]
        except _Spent:
            return True

    def covered(self, chosen: Iterable[Package], entries: Iterable[Package]) -> bool:
        """Is some of ``entries`` installed wherever all of ``chosen`` are, as far as the grid shows?"""
        chosen, entries = tuple(chosen), tuple(entries)
        try:
            return self._covered(chosen, entries)
        except _Spent:
            return False

    def platforms(self, chosen: Iterable[Package]) -> frozenset[str]:
        """Where all of ``chosen`` can be installed together, of the values that ``sys_platform`` has."""
        chosen = tuple(chosen)
        try:
            self._take(sum(len(package.reached) for package in chosen) // 32)
            numbers = tuple(map(self._number, chosen))
            if numbers not in self._platforms:
                grid, together = self._shared_points(chosen)
                held = (name for name in PLATFORMS if together & self._holds(f"sys_platform == '{name}'", grid))
                self._platforms[numbers] = frozenset(held)
            return self._platforms[numbers]
        except _Spent:
            return frozenset(PLATFORMS)

    def installed_on(self, chosen: Iterable[Package], python: str) -> bool:
        """Can all of ``chosen`` be installed on an interpreter, where they can be installed together at all?

        Args:
            chosen: entries of different packages.
            python: its version, ``3.11`` or ``3.11.4``; its last part decides nothing.
        """
        chosen = tuple(chosen)
        release = ".".join(python.split(".")[:2])
        try:
            self._take(sum(len(package.reached) for package in chosen) // 32)
            key = (tuple(map(self._number, chosen)), release)
            if key not in self._interpreters:
                grid, together = self._shared_points(chosen)
                everywhere = (1 << grid.size) - 1
                there = self._holds(f"python_version == '{release}'", grid) & everywhere
                # Of an interpreter that no point has nothing is known.
                self._interpreters[key] = bool(together & there) or not there or not together & everywhere
            return self._interpreters[key]
        except _Spent:
            return True

    def _shared_points(self, chosen: tuple[Package, ...]) -> tuple[Grid, int]:
        """The points of a grid at which all of some entries are installed."""
        grid, together = self._grid_of(chosen), _ANYWHERE
        for package in chosen:
            together &= self._points(package, grid)
        return grid, together

    def _covered(self, chosen: tuple[Package, ...], entries: tuple[Package, ...]) -> bool:
        grid = self._grid_of((*chosen, *entries))
        everywhere = (1 << grid.size) - 1
        wanted = everywhere
        for package in chosen:
            wanted &= self._points(package, grid)
        given: dict[str | None, int] = dict.fromkeys(_shared_forks(chosen) or (None,), 0)
        for entry in entries:
            restricted = entry.marker is not None or entry.reached
            bits = self._points(entry, grid) if restricted else everywhere
            for fork in entry.forks or given:
                if fork in given and bits != _ANYWHERE:
                    given[fork] |= bits
        return all(not wanted & ~bits for bits in given.values())

    def _take(self, steps: int) -> None:
        if not self.budget.take(steps):
            raise _Spent

    def _number(self, package: Package) -> int:
        return self._numbers.setdefault((package.marker, package.reached), len(self._numbers))

    def _grid_of(self, packages: Iterable[Package], shared: frozenset[Release] = frozenset()) -> Grid:
        """The grid on which their markers differ: every encoded extra and version of Python that they name."""
        from gradcompat.requirements.markers import Grid, excludes

        extras: set[str] = set()
        releases: set[Release] = set()
        for marker in _markers(packages):
            self._take((len(marker.extras) + len(marker.releases)) // 8)
            extras.update(filter(excludes, marker.extras))
            releases |= marker.releases
        # Choices of extras make a grid so large that each pair has a small one of its own.
        key = frozenset(extras), shared if not extras and releases <= shared else frozenset(releases)
        grid = self._grids.get(key)
        if grid is None:
            declared = {name for group in self.conflicts for name in group & extras}
            self._take(1 + 4 * len(declared) ** 2 + len(extras) + 16 * len(releases))
            grid = self._grids[key] = Grid(key[1], _choices(key[0], self.conflicts))
        return grid

    def _points(self, package: Package, grid: Grid) -> int:
        """The points of the grid at which an entry is installed; every bit where nothing is known."""
        bits = _ANYWHERE
        if package.marker is not None:
            bits &= self._holds(package.marker, grid) or _ANYWHERE
        if package.reached:
            led = 0
            for text in package.reached:
                led |= self._holds(text, grid)
            bits &= led or _ANYWHERE
        return bits or _ANYWHERE

    def _holds(self, text: str, grid: Grid) -> int:
        """The points of the grid at which a marker holds; every bit where it cannot be read."""
        key = (text, id(grid))
        if key not in self._held:
            from gradcompat.requirements.markers import excludes, parse_marker

            marker = parse_marker(text)
            bits = None
            if marker is not None:
                free = ("", *sorted(extra for extra in marker.extras if not excludes(extra)))
                size = 1 + grid.size // _POINTS
                self._take(len(free) * (len(marker.steps) * size + marker.odd * _ODD * size))
                bits = grid.holds(marker, free)
            self._held[key] = _ANYWHERE if bits is None else bits
        return self._held[key]


def _texts(package: Package) -> tuple[str, ...]:
    return package.reached if package.marker is None else (package.marker, *package.reached)


def releases_of(packages: Iterable[Package]) -> frozenset[Release]:
    """The versions of Python at which the markers of some entries change."""
    return frozenset().union(*(marker.releases for marker in _markers(packages)))


def _markers(packages: Iterable[Package]) -> Iterator[Marker]:
    """Their markers that can be read."""
    from gradcompat.requirements.markers import parse_marker

    for package in packages:
        for text in _texts(package):
            if (marker := parse_marker(text)) is not None:
                yield marker


def _shared_forks(packages: Iterable[Package]) -> tuple[str, ...]:
    """The forks that all of them belong to; empty if they belong to every one."""
    shared: set[str] | None = None
    for package in packages:
        if package.forks:
            shared = set(package.forks) if shared is None else shared & set(package.forks)
    return tuple(sorted(shared or ()))


def _choices(extras: frozenset[str], conflicts: Conflicts) -> tuple[frozenset[str], ...]:
    """The encoded extras that may be chosen: none, each alone, and two that are not declared to conflict."""
    groups: dict[str, set[int]] = {}
    for index, group in enumerate(conflicts):
        for name in group & extras:
            groups.setdefault(name, set()).add(index)
    pairs = (frozenset(pair) for pair in combinations(sorted(groups), 2) if groups[pair[0]].isdisjoint(groups[pair[1]]))
    return (frozenset(), *(frozenset({extra}) for extra in sorted(extras)), *pairs)
