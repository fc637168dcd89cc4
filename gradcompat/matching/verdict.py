"""How one term of a record stands in an environment, with the sentence for whichever it is."""

from __future__ import annotations

from collections.abc import Callable

from gradcompat.model.environment import Location
from gradcompat.presumptions.presumed import Presumed
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.truth import Certainty


@dataclass(slots=True)
class Verdict:
    """One term: how it stands, with the sentence for whichever it is.

    ``said`` is that sentence, or makes it: most of what is open is decided by a presumption, and not told.
    ``presumed`` is what was taken to hold, or what an answer to the open question would be.
    """

    certainty: Certainty
    said: str | Callable[[], str]
    key: str
    location: Location | None = None
    unlisted: bool = False
    presumed: Presumed | None = None

    @property
    def sentence(self) -> str:
        return self.said if isinstance(self.said, str) else self.said()


def with_presumption(verdict: Verdict, presumed: Presumed) -> Verdict:
    """An open verdict with what is presumed of it."""
    return Verdict(presumed.certainty, verdict.said, verdict.key, verdict.location, verdict.unlisted, presumed)
