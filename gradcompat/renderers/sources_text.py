"""Where the records of a run come from, in one clause."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.messages import counted, joined
from gradcompat.model.knowledge_source import KnowledgeSource
from gradcompat.renderers.terminal import safe


def sources_text(records: int, date: str, sources: Sequence[KnowledgeSource]) -> str:
    """``217 records of 2026-11-20 and 3 of acme.yaml``; of what was fetched also how long ago.

    Args:
        records: of all sources, which is what is said where there is but one.
        date: of the first.
        sources: the first is what ships, or what was fetched in its place.
    """
    if not sources:
        return f"{counted(records, 'record')} of {date}"
    first, *own = sources
    said = [f"{counted(first.records, 'record')} of {date}{_fetched(first)}"]
    # What came together is told the time of once.
    said += [f"{one.records} of {safe(one.name)}{'' if one.updated == first.updated else _fetched(one)}" for one in own]
    return joined(tuple(said), "and")


def _fetched(source: KnowledgeSource) -> str:
    if source.age is None:
        return ""
    return f" fetched {'today' if source.age <= 0 else counted(source.age, 'day') + ' ago'}"
