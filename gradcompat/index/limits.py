"""How long and how often an index is asked, and how much it may answer."""

from __future__ import annotations

from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on what asking an index may cost; seconds and bytes.

    Attributes:
        silence: how long a connection may take, and how long nothing may come.
        total: how long one answer may take.
        attempts: how often is asked where it may help.
        pause: between the first two attempts; it doubles from there on.
        longest_pause: what an index may ask us to wait; where it asks for more, it is given up.
        connections: at a time.
        fresh: how old a page may be that is not asked for again.
        page: how large a page of files may be.
        metadata: how large the METADATA of a release may be.
        archive: how much of a wheel or of an sdist is fetched for the metadata in it.
    """

    silence: float = 20.0
    total: float = 120.0
    attempts: int = 4
    pause: float = 0.5
    longest_pause: float = 30.0
    connections: int = 16
    fresh: float = 600.0
    page: int = 32 * 2**20
    metadata: int = 4 * 2**20
    archive: int = 16 * 2**20


DEFAULTS = Limits()
