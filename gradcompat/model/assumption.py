"""What is presumed where no file states a fact."""

from __future__ import annotations

from gradcompat.model.environment import Location
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A term that is presumed to hold.

    Attributes:
        key: the fact that it is about, as in :class:`gradcompat.model.finding.Unknown`; a fact takes its place.
        sentence: behind "taking it that".
        location: where it is taken from; None if it is only usual.
    """

    key: str
    sentence: str
    location: Location | None = None
