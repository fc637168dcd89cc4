"""Requires-Dist for one target: which packages, in which versions, with which of their extras."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from gradcompat.model.release import Target
from gradcompat.planner.target import marker_environment
from gradcompat.requirements import specifiers
from gradcompat.requirements.markers import PLAIN_VARIABLES, holding_extras, parse_marker
from gradcompat.requirements.names import NAME, normalise
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST = 10_000
# A marker that can only hold with one extra: that alone, or joined by `and` to what else has to hold.
_ONE_EXTRA = lazy_pattern(
    r";(?:(?![\"'()]|\bor\b).|\"[^\"]*\"|'[^']*')*?\bextra\s*==\s*[\"']([A-Za-z0-9._-]+)[\"']\s*$"
)
_PLAIN_LINE = lazy_pattern(
    rf"\s*(?P<name>{NAME})\s*(?:\[\s*(?P<extras>{NAME}\s*(?:,\s*{NAME}\s*)*)\])?\s*"
    r"(?P<bracket>\()?(?P<specifier>[^();\[\]]*)(?(bracket)\))\s*(?:;(?P<marker>.*))?"
)
_PLAIN_CLAUSE = lazy_pattern(specifiers.PLAIN_CLAUSE)

# A specifier and a version are asked about in thousands of states.
allows = lru_cache(maxsize=65536)(specifiers.allows)


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
    read = _plain(line, target)
    if read is None:
        # What comes here is rare, and importing it takes longer than most plans need.
        from gradcompat.planner.requirement_grammar import parsed

        try:
            read = parsed(line, marker_environment(target))
        except (ValueError, KeyError, RecursionError):
            return None
    name, specifier, extras, holding = read
    return tuple(Need(name, specifier, extras, extra) for extra in holding)


def _plain(line: str, target: Target) -> tuple[str, str, tuple[str, ...], tuple[str, ...]] | None:
    """The same as the whole grammar makes of a line in its normal form, as nearly all are; None for any other."""
    found = _PLAIN_LINE.fullmatch(line)
    if found is None:
        return None
    holding = ("",) if found["marker"] is None else _extras_that_hold(found["marker"], target)
    if holding is None:
        return None
    specifier = _in_order(found["specifier"])
    if specifier is None:
        return None
    extras = {normalise(extra.strip()) for extra in found["extras"].split(",")} if found["extras"] else set[str]()
    return normalise(found["name"]), specifier, tuple(sorted(extras)), holding


@lru_cache(maxsize=8192)
def _in_order(specifier: str) -> str | None:
    """A specifier as packaging writes it; None if a clause is not plain."""
    if not specifier.strip():
        return ""
    clauses = specifier.split(",")
    if not all(map(_PLAIN_CLAUSE.fullmatch, clauses)):
        return None
    return ",".join(sorted({"".join(clause.split()) for clause in clauses}))


@lru_cache(maxsize=8192)
def _extras_that_hold(text: str, target: Target) -> tuple[str, ...] | None:
    """The extras with which a marker holds, ``""`` alone if it holds without any; None if it is not plain."""
    marker = parse_marker(text)
    if marker is None or marker.odd or not marker.variables <= PLAIN_VARIABLES | {"extra"}:
        return None
    return holding_extras(marker, marker_environment(target))
