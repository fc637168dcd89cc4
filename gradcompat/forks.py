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
from itertools import product

from gradcompat.model.environment import Package

_EXTRA = re.compile(r"""\bextra\s*[!=]=\s*['"]([^'"]*)['"]|['"]([^'"]*)['"]\s*[!=]=\s*extra\b""")
_CONFLICTING = re.compile(r"(?:extra|group|project)-\d+-.*")
_LONGEST_MARKER = 20_000
_UNREADABLE = -1  # every bit: has a point in common with anything
_PLATFORMS = (
    ("linux", "Linux", "posix", ("x86_64", "aarch64", "ppc64le")),
    ("darwin", "Darwin", "posix", ("x86_64", "arm64")),
    ("win32", "Windows", "nt", ("AMD64",)),
)
_PYTHONS = tuple(f"3.{minor}" for minor in range(8, 16))


def together(one: Package, other: Package) -> bool:
    """Is there an environment in which both entries are installed?"""
    if one.forks and other.forks and not set(one.forks) & set(other.forks):
        return False
    if one.marker is None or other.marker is None or one.marker == other.marker:
        return True
    extras = _extras((one.marker, other.marker))
    return bool(_holds(one.marker, extras) & _holds(other.marker, extras))


def covered(chosen: Iterable[Package], entries: Iterable[Package]) -> bool:
    """Is some of ``entries`` installed wherever all of ``chosen`` are, as far as the grid shows?"""
    chosen, entries = tuple(chosen), tuple(entries)
    extras = _extras(package.marker for package in (*chosen, *entries) if package.marker is not None)
    everywhere = (1 << len(_grid(_conflicting(extras)))) - 1
    wanted = everywhere
    for package in chosen:
        if package.marker is not None:
            wanted &= _holds(package.marker, extras)
    given: dict[str | None, int] = dict.fromkeys(_shared_forks(chosen) or (None,), 0)
    for entry in entries:
        bits = everywhere if entry.marker is None else _holds(entry.marker, extras)
        for fork in entry.forks or given:
            if fork in given and bits != _UNREADABLE:
                given[fork] |= bits
    return all(not wanted & ~bits for bits in given.values())


def _shared_forks(packages: Iterable[Package]) -> tuple[str, ...]:
    """The forks that all of them belong to; empty if they belong to every one."""
    shared: set[str] | None = None
    for package in packages:
        if package.forks:
            shared = set(package.forks) if shared is None else shared & set(package.forks)
    return tuple(sorted(shared or ()))


def _extras(markers: Iterable[str]) -> frozenset[str]:
    """Every extra that the markers speak of."""
    return frozenset(name for marker in markers for found in _EXTRA.findall(marker) for name in found if name)


def _conflicting(extras: frozenset[str]) -> frozenset[str]:
    return frozenset(extra for extra in extras if _CONFLICTING.fullmatch(extra))


@lru_cache(maxsize=8192)
def _holds(text: str, extras: frozenset[str]) -> int:
    """The points of the grid at which a marker holds, as the bits of an integer."""
    # Only lockfiles with alternatives come here; reading markers takes longer to import than most checks need.
    from packaging.markers import Marker

    if len(text) > _LONGEST_MARKER:
        return _UNREADABLE
    conflicting = _conflicting(extras)
    free = sorted(extras - conflicting)
    bits = 0
    try:
        marker = Marker(text)
        for position, point in enumerate(_grid(conflicting)):
            if any(marker.evaluate({**point, "extra": extra}) for extra in (point["extra"], *free)):
                bits |= 1 << position
    except (ValueError, KeyError, RecursionError):
        return _UNREADABLE  # not a marker, or one that asks for what the grid does not have
    return bits or _UNREADABLE


@lru_cache(maxsize=64)
def _grid(extras: frozenset[str]) -> tuple[dict[str, str], ...]:
    """The environments to try: every conflicting extra alone and none, by platform, machine and Python version."""
    return tuple(
        {
            "sys_platform": sys_platform,
            "platform_system": system,
            "os_name": os_name,
            "platform_machine": machine,
            "python_version": python,
            "python_full_version": f"{python}.5",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "extra": extra,
        }
        for sys_platform, system, os_name, machines in _PLATFORMS
        for machine, python, extra in product(machines, _PYTHONS, ("", *sorted(extras)))
    )
