"""Three-valued truth: what could not be seen is neither yes nor no."""

from __future__ import annotations

from enum import IntEnum


class Truth(IntEnum):
    """Kleene's three values: *and* is ``min``, *or* is ``max``.

    >>> min(Truth.YES, Truth.UNKNOWN)
    <Truth.UNKNOWN: 1>
    """

    NO = 0
    UNKNOWN = 1
    YES = 2

    @classmethod
    def of(cls, value: bool) -> Truth:
        return cls.YES if value else cls.NO


class Certainty(IntEnum):
    """How a term stands where presumptions count: *and* is ``min``, *or* is ``max``.

    What is only presumed lies between what is open and what is certain, so that a combination is dormant as soon as one
    of its terms is presumed not to hold, and affected if every term holds or is presumed to.

    >>> min(Certainty.YES, Certainty.PRESUMED_YES, Certainty.OPEN)
    <Certainty.OPEN: 2>
    """

    NO = 0
    PRESUMED_NO = 1
    OPEN = 2
    PRESUMED_YES = 3
    YES = 4

    @classmethod
    def of(cls, truth: Truth) -> Certainty:
        """Facts alone."""
        return (cls.NO, cls.OPEN, cls.YES)[truth]

    @classmethod
    def presumed(cls, truth: Truth) -> Certainty:
        """What is taken to hold; nothing certain comes of it."""
        return (cls.PRESUMED_NO, cls.OPEN, cls.PRESUMED_YES)[truth]

    @property
    def truth(self) -> Truth:
        """Without presumptions."""
        return (Truth.NO, Truth.UNKNOWN, Truth.UNKNOWN, Truth.UNKNOWN, Truth.YES)[self]
