"""What is presumed of a term, and how a person is told so."""

from __future__ import annotations

from gradcompat.model.environment import Location
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.truth import Certainty


@dataclass(frozen=True, slots=True, kw_only=True)
class Presumed:
    """What is presumed of one term.

    Attributes:
        certainty: ``PRESUMED_YES``, ``PRESUMED_NO``, or ``OPEN`` where what is usual does not decide it.
        taking: behind "taking it that", where it is presumed to hold.
        feature: behind "unless you use", where it is presumed not to hold; empty for a release that is not the newest.
        condition: behind "if", where it is open; as a person would say it.
        asks: another fact that would decide it, where that one is not stated.
        likelihood: the share of usual values that satisfy it, from 0 to 1; it orders findings and decides nothing.
        location: where what is presumed comes from, if it stands somewhere.
    """

    certainty: Certainty
    taking: str = ""
    feature: str = ""
    condition: str = ""
    asks: str = ""
    likelihood: float = 0.5
    location: Location | None = None
