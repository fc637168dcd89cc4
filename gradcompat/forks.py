"""Can two entries of a lockfile be installed together?

A universal lockfile holds one package several times, each under a marker: by platform, by Python version, by an extra
that conflicts with another. Markers are compared by evaluating both over a grid of environments; two entries that are
never chosen at one point of it are taken for alternatives. A marker that cannot be read, or that holds at no point of
the grid, excludes nothing.

Extras do not exclude one another, except those that uv has encoded (``extra-8-nanochat-cpu``): it does so only where
the project says that they conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations, islice, product

from gradcompat.model.environment import Package

_EXTRA = re.compile(r"""\bextra\s*[!=]=\s*['"]([^'"]*)['"]|['"]([^'"]*)['"]\s*[!=]=\s*extra\b""")
_CONFLICTING = re.compile(r"(?:extra|group|project)-\d+-.*")
_LONGEST_MARKER = 100_000
_ANYWHERE = -1  # every bit: has a point in common with anything
_PLATFORMS = (
    ("linux", "Linux", "posix", ("x86_64", "aarch64", "ppc64le")),
    ("darwin", "Darwin", "posix", ("x86_64", "arm64")),
    ("win32", "Windows", "nt", ("AMD64",)),
)
_VARIABLES = (
    "sys_platform",
    "platform_system",
    "os_name",
    "platform_machine",
    "python_version",
    "python_full_version",
    "implementation_name",
    "platform_python_implementation",
)
_PYTHONS = tuple(f"3.{minor}" for minor in range(8, 16))
_PLACES = tuple(
    {
        "sys_platform": sys_platform,
        "platform_system": system,
        "os_name": os_name,
        "platform_machine": machine,
        "python_version": python,
        "python_full_version": f"{python}.5",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for sys_platform, system, os_name, machines in _PLATFORMS
    for machine, python in product(machines, _PYTHONS)
)
_ENCODED = re.compile(r"\bextra\s*([!=]=)\s*['\"]((?:extra|group|project)-\d+-[^'\"]*)['\"]")
_TRUE, _FALSE = "python_version >= '0'", "python_version < '0'"
_MOST_PAIRS = 100

Conflicts = tuple[frozenset[str], ...]


def together(one: Package, other: Package, conflicts: Conflicts = ()) -> bool:
    """Is there an environment in which both entries are installed?

    Args:
        one: an entry of a lockfile.
        other: another of the same lockfile.
        conflicts: sets of extras of which no two are chosen together. Of encoded extras that stand in none of them
            only one is chosen at a time.
    """
    if one.forks and other.forks and not set(one.forks) & set(other.forks):
        return False
    if one.marker == other.marker and one.reached == other.reached:
        return True
    extras = _extras(one) | _extras(other)
    return bool(_points(one, extras, conflicts) & _points(other, extras, conflicts))


def covered(chosen: Iterable[Package], entries: Iterable[Package], conflicts: Conflicts = ()) -> bool:
    """Is some of ``entries`` installed wherever all of ``chosen`` are, as far as the grid shows?"""
    chosen, entries = tuple(chosen), tuple(entries)
    extras = frozenset(name for package in (*chosen, *entries) for name in _extras(package))
    everywhere = (1 << len(_grid(_conflicting(extras), conflicts))) - 1
    wanted = everywhere
    for package in chosen:
        wanted &= _points(package, extras, conflicts)
    given: dict[str | None, int] = dict.fromkeys(_shared_forks(chosen) or (None,), 0)
    for entry in entries:
        bits = _points(entry, extras, conflicts) if entry.marker is not None or entry.reached else everywhere
        for fork in entry.forks or given:
            if fork in given and bits != _ANYWHERE:
                given[fork] |= bits
    return all(not wanted & ~bits for bits in given.values())


def _shared_forks(packages: Iterable[Package]) -> tuple[str, ...]:
    """The forks that all of them belong to; empty if they belong to every one."""
    shared: set[str] | None = None
    for package in packages:
        if package.forks:
            shared = set(package.forks) if shared is None else shared & set(package.forks)
    return tuple(sorted(shared or ()))


def _extras(package: Package) -> frozenset[str]:
    """Every extra that its markers speak of."""
    texts = package.reached if package.marker is None else (package.marker, *package.reached)
    return frozenset(name for text in texts for name in _extras_in(text))


@lru_cache(maxsize=8192)
def _extras_in(text: str) -> frozenset[str]:
    return frozenset(name for found in _EXTRA.findall(text) for name in found if name)


def _points(package: Package, extras: frozenset[str], conflicts: Conflicts) -> int:
    """The points of the grid at which an entry is installed; every bit where nothing is known."""
    bits = _ANYWHERE
    if package.marker is not None:
        bits &= _holds(package.marker, extras, conflicts) or _ANYWHERE
    if package.reached:
        led = 0
        for text in package.reached:
            led |= _holds(text, extras, conflicts)
        bits &= led or _ANYWHERE
    return bits or _ANYWHERE


def _conflicting(extras: frozenset[str]) -> frozenset[str]:
    return frozenset(extra for extra in extras if _CONFLICTING.fullmatch(extra))


@lru_cache(maxsize=8192)
def _holds(text: str, extras: frozenset[str], conflicts: Conflicts) -> int:
    """The points of the grid at which a marker holds, as the bits of an integer."""
    # Only lockfiles with alternatives come here; reading markers takes longer to import than most checks need.
    from packaging.markers import Marker

    if len(text) > _LONGEST_MARKER:
        return _ANYWHERE
    conflicting = _conflicting(extras)
    free = ("", *sorted(extras - conflicting))
    # Most markers speak of one or two variables: points that agree on those are evaluated once.
    spoken_of = [name for name in _VARIABLES if name in text.replace(".", "_")]  # `os.name` is an old spelling
    bits = 0
    position = 0
    try:
        for chosen in _choices(conflicting, conflicts):
            marker = Marker(_with_choice(text, chosen))
            known: dict[tuple[str, ...], bool] = {}
            for point in _PLACES:
                projected = tuple(point[name] for name in spoken_of)
                if projected not in known:
                    known[projected] = any(marker.evaluate({**point, "extra": extra}) for extra in free)
                if known[projected]:
                    bits |= 1 << position
                position += 1
    except (ValueError, KeyError, RecursionError):
        return _ANYWHERE  # not a marker, or one that asks for what the grid does not have
    return bits


def _with_choice(text: str, chosen: frozenset[str]) -> str:
    """The marker with its encoded extras decided, since several may be chosen and ``extra`` stands for one."""

    def decided(match: re.Match[str]) -> str:
        return _TRUE if (match[2] in chosen) == (match[1] == "==") else _FALSE

    return _ENCODED.sub(decided, text)


@lru_cache(maxsize=64)
def _choices(extras: frozenset[str], conflicts: Conflicts) -> tuple[frozenset[str], ...]:
    """The encoded extras that may be chosen: none, each alone, and two that are not declared to conflict."""
    declared = frozenset(name for group in conflicts for name in group)
    pairs = (
        frozenset(pair)
        for pair in combinations(sorted(extras & declared), 2)
        if not any(set(pair) <= group for group in conflicts)
    )
    return (frozenset(), *(frozenset({extra}) for extra in sorted(extras)), *islice(pairs, _MOST_PAIRS))


def _grid(extras: frozenset[str], conflicts: Conflicts) -> range:
    """The numbers of the points: every choice of extras in every place."""
    return range(len(_choices(extras, conflicts)) * len(_PLACES))
