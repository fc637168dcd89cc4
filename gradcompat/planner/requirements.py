"""Requires-Dist for one target: which packages, in which versions, with which of their extras."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gradcompat.model.release import Target
from gradcompat.names import normalise
from gradcompat.planner.target import marker_environment

_LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class Need:
    """One requirement that holds on the target.

    Attributes:
        name: normalised.
        specifier: the versions, as packaging writes them; empty for any.
        extras: of the package that is required, normalised.
        extra: of the package that requires it; empty for a requirement that always holds.
    """

    name: str
    specifier: str
    extras: tuple[str, ...] = ()
    extra: str = ""

    def __str__(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}{self.specifier}"


@dataclass(frozen=True, slots=True)
class Needs:
    """What one release requires: by extra what can be read, and the lines that cannot."""

    all: tuple[Need, ...]
    unreadable: tuple[str, ...] = ()

    def with_extras(self, extras: frozenset[str]) -> tuple[Need, ...]:
        """What it requires when it is asked for with these extras."""
        return tuple(need for need in self.all if not need.extra or need.extra in extras)


def needs_of(lines: Iterable[str], target: Target) -> Needs:
    """Read Requires-Dist for a target; extras are told apart later."""
    found: dict[Need, None] = {}
    unreadable: list[str] = []
    for line in lines:
        needs = _needs_of_line(line, target)
        if needs is None:
            unreadable.append(line[:200])
        else:
            found.update(dict.fromkeys(needs))
    # What always holds need not be said again for an extra.
    always = {(need.name, need.specifier, need.extras) for need in found if not need.extra}
    kept = (need for need in found if not need.extra or (need.name, need.specifier, need.extras) not in always)
    return Needs(tuple(kept), tuple(unreadable))


@lru_cache(maxsize=65536)
def _needs_of_line(line: str, target: Target) -> tuple[Need, ...] | None:
    """One line, once for each extra with which it holds; None if it cannot be read. Releases share most lines."""
    if len(line) > _LONGEST:
        return None
    try:
        parsed = Requirement(line)
        name, specifier = normalise(parsed.name), str(parsed.specifier)
        extras = tuple(sorted(map(normalise, parsed.extras)))
        return tuple(Need(name, specifier, extras, extra) for extra in _holding_extras(parsed, target))
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName, ValueError, RecursionError):
        return None


def _holding_extras(requirement: Requirement, target: Target) -> tuple[str, ...]:
    """The extras with which the requirement holds; ``""`` alone if it holds without any."""
    return ("",) if requirement.marker is None else _extras_that_hold(str(requirement.marker), target)


@lru_cache(maxsize=8192)
def _extras_that_hold(text: str, target: Target) -> tuple[str, ...]:
    """The same for a marker, as packaging writes it."""
    marker = Marker(text)
    known = marker_environment(target)
    if marker.evaluate({**known, "extra": ""}):
        return ("",)
    return tuple(extra for extra in _extras_of(text) if marker.evaluate({**known, "extra": extra}))


@lru_cache(maxsize=8192)
def _extras_of(marker: str) -> tuple[str, ...]:
    """Every extra that a marker, as packaging writes it, speaks of."""
    parts = marker.split('"')
    names = [
        parts[index + 1]
        for index, part in enumerate(parts[:-1])
        if index % 2 == 0 and part.rstrip(" =!").endswith("extra")
    ]
    names += [parts[index] for index in range(1, len(parts), 2) if parts[index + 1].lstrip(" =!").startswith("extra")]
    return tuple(sorted({normalise(name) for name in names}))


@lru_cache(maxsize=65536)
def allows(specifier: str, version: Version) -> bool:
    """Is the version one that the requirement allows? A pre-release counts as its number says, as with pip."""
    return not specifier or _specifiers(specifier).contains(version, prereleases=True)


@lru_cache(maxsize=16384)
def _specifiers(text: str) -> SpecifierSet:
    return SpecifierSet(text)
