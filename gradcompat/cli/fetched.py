"""The knowledge that `gradcompat update` has fetched, in the place of what ships or beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from gradcompat.database.open import say
from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.envelope import public_key
from gradcompat.knowledge.load import KnowledgeBase, joined, knowledge_from
from gradcompat.knowledge.payload import moment_text, read_payload, serial_of
from gradcompat.knowledge.stored import read_stored
from gradcompat.model.knowledge_source import KnowledgeSource


def fetched_base(path: Path, shipped: KnowledgeBase, kept: Mapping[str, Any]) -> KnowledgeBase:
    """What is stored there, if it is newer than what ships; the own records in it in any case.

    Args:
        path: the file.
        shipped: what ships with the package.
        kept: what the project says, if it names where knowledge comes from.

    Raises:
        KnowledgeError: if it cannot be used.
        UsageError: if a pinned key is none.
    """
    stored = read_stored(path)
    if stored is None:
        return shipped
    pinned = [public_key(text).id for text in kept.get("update", {}).get("key", ())]
    if pinned and stored.key not in pinned:
        raise KnowledgeError("is signed by a key that is no longer pinned", path=str(path))
    newer = stored.serial > serial_of(shipped.date)
    if not newer and not stored.own:
        return shipped
    payload = read_payload(stored.payload, str(path))
    now = datetime.now(timezone.utc)

    def fetched(base: KnowledgeBase, kind: Literal["update", "private"], name: str) -> KnowledgeSource:
        return replace(
            base.sources[0],
            kind=kind,
            name=name,
            updated=moment_text(stored.fetched),
            age=max(0, (now - stored.fetched).days),
            expires=moment_text(payload.expires),
        )

    if payload.expires <= now:
        say(f"`{path}`: its publisher stood for it until {moment_text(payload.expires)}: run `gradcompat update`")
    base = shipped
    try:
        if payload.knowledge is not None and newer:
            base = knowledge_from(payload.knowledge, str(path))
            base = replace(base, sources=(fetched(base, "update", stored.url),))
        for name, compiled in payload.own:
            own = knowledge_from(compiled, name)
            base = joined(base, own, fetched(own, "private", name))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise KnowledgeError("is broken", path=str(path)) from None
    return base
