"""Where the records of a run come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeSource:
    """One file of records.

    Attributes:
        kind: ``shipped`` with the package, fetched by ``update``, or somebody's own (``private``).
        name: what it is called: a file or a URL as it was named, ``gradcompat`` for what ships.
        records: how many it has.
        digest: of its records.
        date: of its records, as they state it.
        updated: the moment at which it was fetched, in UTC; None for what was not.
        age: whole days since then.
        expires: the moment from which on its publisher no longer stands for it.
    """

    kind: Literal["shipped", "update", "private"]
    name: str
    records: int
    digest: str
    date: str
    updated: str | None = None
    age: int | None = None
    expires: str | None = None
