"""Which releases to measure next, when only the places are wanted where a verdict changes.

The ends first, then the middle between two measured neighbours that differ, until all that differ are adjacent. What
surprises: a change and a change back between two neighbours that agree is never looked for. Holes can be missed, and
only the whole matrix rules them out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

Place = TypeVar("Place", bound=Hashable)


def to_measure(places: Sequence[Place], verdicts: Mapping[Place, Hashable]) -> tuple[Place, ...]:
    """The places that the next round has to measure; none when every boundary is between adjacent ones."""
    ends = tuple(dict.fromkeys((*places[:1], *places[-1:])))
    missing = tuple(place for place in ends if place not in verdicts)
    if missing:
        return missing
    known = [position for position, place in enumerate(places) if place in verdicts]
    return tuple(
        places[(low + high) // 2]
        for low, high in pairwise(known)
        if high - low > 1 and verdicts[places[low]] != verdicts[places[high]]
    )
