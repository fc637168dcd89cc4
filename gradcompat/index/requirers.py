"""Who requires whom, in any release: found when a snapshot is written, so that nobody has to read all of it to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradcompat.model.release import Requirers
from gradcompat.requirements.names import NAME, normalise
from gradcompat.startup.lazy_patterns import lazy_pattern

_REQUIRED = lazy_pattern(rf"\s*({NAME})\s*(\[)?")
# What holds for an extra alone: none of the ways in which a marker could hold without one.
_OTHERWISE = lazy_pattern(r"\bor\b|!=|\bin\b")


def requirers_among(lines: Mapping[str, Iterable[str]]) -> Requirers:
    """Who requires whom.

    Args:
        lines: package → the Requires-Dist of all its releases.
    """
    of: dict[str, set[str]] = {}
    asks_always: dict[str, set[str]] = {}
    asks: dict[str, set[str]] = {}
    for name, written in lines.items():
        for line in written:
            found = _REQUIRED.match(line)
            if found is None:
                continue
            required = normalise(found[1])
            of.setdefault(required, set()).add(name)
            if found[2]:
                asks.setdefault(name, set()).add(required)
                if not _is_for_an_extra(line):
                    asks_always.setdefault(name, set()).add(required)
    # Who asks only for its own extras counts where somebody asks for those.
    asking = set(asks_always)
    waiting = [asked for name in asking for asked in asks[name]]
    while waiting:
        name = waiting.pop()
        if name in asks and name not in asking:
            asking.add(name)
            waiting += asks[name]
    return Requirers(of={name: frozenset(by) for name, by in of.items()}, asking=frozenset(asking))


def _is_for_an_extra(line: str) -> bool:
    marker = line.partition(";")[2]
    return "extra" in marker and _OTHERWISE.search(marker) is None


def requirers_as_json(requirers: Requirers, names: Iterable[str]) -> object:
    """What a snapshot keeps of these packages."""
    known = sorted(names)
    return {
        "asking": sorted(requirers.asking),
        "of": {name: sorted(requirers.of[name]) for name in known if name in requirers.of},
    }


def requirers_from(content: Mapping[str, object]) -> Requirers:
    """What a snapshot has kept.

    Raises:
        TypeError, KeyError, AttributeError: if it is damaged.
    """
    of: object = content["of"]
    asking: object = content["asking"]
    if not isinstance(of, dict) or not isinstance(asking, list):
        raise TypeError("not the packages that require others")
    return Requirers(
        of={str(name): frozenset(map(str, by)) for name, by in of.items()}, asking=frozenset(map(str, asking))
    )
