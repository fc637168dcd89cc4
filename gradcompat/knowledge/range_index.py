"""Which records the listed versions leave, by an index of all their ranges: the others need not even be parsed.

The versions at which ranges of a package begin or end divide the order of versions into cells: 1, 3, 5, … are these
versions themselves, and 0, 2, 4, … what lies before, between and behind them. A range consists of whole cells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from packaging.version import Version

from gradcompat.requirements.versions import BELOW, VersionSet, Window

# Canonical name → where its versions sit; None for one that nobody can place.
Listed = Mapping[str, frozenset[Window | None]]


class RangeIndex:
    """The terms about versions of some records.

    Args:
        data: what :func:`index_of` makes of them.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._bounds: Mapping[str, Sequence[str]] = data["bounds"]
        self._ranges: Mapping[str, Sequence[Sequence[int]]] = data["ranges"]
        self._needs: Sequence[Sequence[Sequence[Any]]] = data["needs"]
        self._of_host = frozenset(data["of_host"])

    def __len__(self) -> int:
        return len(self._needs)

    def possible(self, position: int, listed: Listed, *, closed: bool) -> bool:
        """Is there a combination of this record that no listed version rules out?"""
        return any(
            all(
                not closed if name not in listed else number in _met(self, name, listed[name])
                for name, number in combination
            )
            for combination in self._needs[position]
        )

    def asks_of_host(self, position: int) -> bool:
        """Does this record ask what the machine is?"""
        return position in self._of_host

    def meeting(self, name: str, windows: frozenset[Window | None]) -> Iterator[int]:
        """The numbers of those ranges of a package in which one of these builds may be."""
        ranges = self._ranges.get(name, ())
        if None in windows:
            yield from range(len(ranges))
            return
        bounds = self._bounds.get(name, ())
        places = {(_cell(bounds, one.low), _cell(bounds, one.high)) for one in windows if one is not None}
        releases = sorted(low for low, high in places if low == high)
        others = [place for place in places if place[0] != place[1]]
        for number, cells in enumerate(ranges):
            for first, last in zip(cells[::2], cells[1::2], strict=True):
                at = bisect_left(releases, first)
                if releases[at : at + 1] and releases[at] <= last:
                    yield number
                    break
                if any(low <= last and first <= high for low, high in others):
                    yield number
                    break


@lru_cache(maxsize=1024)  # many environments have the same versions
def _met(index: RangeIndex, name: str, windows: frozenset[Window | None]) -> frozenset[int]:
    return frozenset(index.meeting(name, windows))


def _cell(bounds: Sequence[str], version: Version) -> int:
    place = bisect_left(bounds, version, key=Version)
    return 2 * place + (place < len(bounds) and Version(bounds[place]) == version)


def index_of(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The index of compiled records, as their file has it."""
    texts: dict[str, dict[str, int]] = {}  # package → range as it is spelled → its number
    needs: list[list[list[Sequence[Any]]]] = []
    of_host: list[int] = []
    for position, record in enumerate(records):
        needs.append([])
        for terms in record["affected"]:
            needs[-1].append([])
            for kind, name, *rest in terms:
                if kind == "package":
                    known = texts.setdefault(name, {})
                    needs[-1][-1].append([name, known.setdefault(rest[0], len(known))])
        if any(_is_of_host(term) for terms in record["affected"] for term in terms):
            of_host.append(position)
    sets = {name: [VersionSet.parse(text) for text in known] for name, known in sorted(texts.items())}
    bounds = {name: sorted({bound for one in many for bound in one.bounds}) for name, many in sets.items()}
    return {
        "bounds": {name: list(map(str, versions)) for name, versions in bounds.items()},
        "ranges": {name: [_cells(one, bounds[name]) for one in many] for name, many in sets.items()},
        "needs": needs,
        "of_host": of_host,
    }


def _is_of_host(term: Sequence[Any]) -> bool:
    return term[0] in ("virtual", "platform") or (term[0] in ("setting", "compare") and term[1].startswith("host."))


def _cells(versions: VersionSet, bounds: Sequence[Version]) -> list[int]:
    """The first and the last cell of each interval."""
    cells: list[int] = []
    for low, high in versions.intervals:
        cells.append(0 if low is None else 2 * bisect_left(bounds, low[0]) + (1 if low[1] == BELOW else 2))
        cells.append(
            2 * len(bounds) if high is None else 2 * bisect_left(bounds, high[0]) + (0 if high[1] == BELOW else 1)
        )
    return cells
