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
