"""Where the records of a run come from, in one clause."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.messages import counted, joined
from gradcompat.model.knowledge_source import KnowledgeSource
from gradcompat.renderers.terminal import safe


def sources_text(records: int, date: str, sources: Sequence[KnowledgeSource]) -> str:
    """``217 records of 2026-11-20 and 3 of acme.yaml``; of an installed distribution also its name.

    Args:
        records: of all sources, which is what is said where there is but one.
        date: of the first.
        sources: the first is what ships, or a newer release of the same.
    """
    if not sources:
        return f"{counted(records, 'record')} of {date}"
    first, *own = sources
    said = f"{counted(first.records, 'record')} of {date}"
    if first.kind == "installed":
        said += f" from {safe(first.name)}"
    return joined((said, *(f"{source.records} of {safe(source.name)}" for source in own)), "and")
