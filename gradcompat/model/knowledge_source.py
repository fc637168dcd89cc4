"""Where the records of a run come from."""

from __future__ import annotations

from typing import Literal

from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSource:
    """One file of records.

    Attributes:
        kind: ``shipped`` with the package, a newer ``installed`` release of the same, or somebody's own (``private``).
        name: what it is called: a file as it was named, a distribution with its version, ``gradcompat`` for what ships.
        records: how many it has.
        digest: of its records.
        date: of its records, as they state it.
    """

    kind: Literal["shipped", "installed", "private"]
    name: str
    records: int
    digest: str
    date: str
