"""Requires-Dist for one target: which packages, in which versions, with which of their extras."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gradcompat.lazy_dataclasses import dataclass
from gradcompat.model.release import Target
from gradcompat.names import normalise
from gradcompat.planner.target import marker_environment

_LONGEST = 10_000
# A marker that can only hold with one extra: that alone, or joined by `and` to what else has to hold.
_ONE_EXTRA = re.compile(r";(?:(?![\"'()]|\bor\b).|\"[^\"]*\"|'[^']*')*?\bextra\s*==\s*[\"']([A-Za-z0-9._-]+)[\"']\s*$")


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
    """What one release requires on a target.

    Attributes:
        all: what could be read, by extra.
        unreadable: the lines that could not.
        waiting: extra → lines that hold with it at most. Most of what releases require is for developing them, so they
            are read when somebody asks for the extra.
        target: what they are read for.
    """

    all: tuple[Need, ...]
    unreadable: tuple[str, ...]
    waiting: Mapping[str, tuple[str, ...]]
    target: Target

    def with_extras(self, extras: frozenset[str]) -> tuple[Need, ...]:
        """What it requires when it is asked for with these extras."""
        found = dict.fromkeys(need for need in self.all if not need.extra or need.extra in extras)
        for extra in sorted(self.waiting.keys() & extras):
            for line in self.waiting[extra]:
                found.update(dict.fromkeys(_needs_of_line(line, self.target) or ()))
        # What always holds need not be said again for an extra.
        always = {(need.name, need.specifier, need.extras) for need in found if not need.extra}
        return tuple(need for need in found if not need.extra or (need.name, need.specifier, need.extras) not in always)


def needs_of(lines: Iterable[str], target: Target) -> Needs:
    """Read Requires-Dist for a target; extras are told apart later."""
    found: dict[Need, None] = {}
    unreadable: list[str] = []
    waiting: dict[str, list[str]] = {}
    for line in lines:
        extra = _ONE_EXTRA.search(line)
        if extra is not None and line.count("extra") == 1 + extra[1].count("extra") and len(line) <= _LONGEST:
            waiting.setdefault(normalise(extra[1]), []).append(line)
            continue
        needs = _needs_of_line(line, target)
        if needs is None:
            unreadable.append(line[:200])
        else:
            found.update(dict.fromkeys(needs))
    return Needs(tuple(found), tuple(unreadable), {extra: tuple(lines) for extra, lines in waiting.items()}, target)


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
