"""``gradcompat update``: newer knowledge over https, if a pinned key has signed it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gradcompat.config.schema import configuration
from gradcompat.database.open import UPDATE_KEY, UPDATE_URL
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.index.credentials import Credentials
from gradcompat.index.limits import Limits
from gradcompat.index.location import named
from gradcompat.index.transport import Transport
from gradcompat.knowledge.decompile import checked
from gradcompat.knowledge.envelope import MAX_BYTES, Envelope, PublicKey, loads, public_key
from gradcompat.knowledge.folder import stored_path
from gradcompat.knowledge.installing import check_newer, check_times, install
from gradcompat.knowledge.lint import own_problems
from gradcompat.knowledge.load import KnowledgeBase, joined, knowledge_from, load
from gradcompat.knowledge.payload import Payload, moment_text, read_payload
from gradcompat.knowledge.signing import verified
from gradcompat.knowledge.stored import Stored, read_stored
from gradcompat.messages import counted
from gradcompat.renderers.terminal import safe
from gradcompat.user_folders import data_folder

LIMITS = Limits(attempts=3)


@dataclass(frozen=True, slots=True)
class Channel:
    """Where knowledge is fetched from, and whose signature it has to have; ``project`` if a pyproject.toml says so."""

    url: str
    keys: tuple[PublicKey, ...]
    project: bool


def run(url: str | None, keys: Sequence[str], *, dry_run: bool) -> int:
    """Fetch, verify and install; what is refused changes nothing.

    Returns:
        0 if the newest knowledge is here now, or with ``dry_run`` would be.

    Raises:
        UsageError: if it is not said where from, or nothing can be written.
        KnowledgeError: if what was fetched is refused.
        IndexUnavailable: if nothing could be fetched.
    """
    channel = channel_of(url, keys, os.environ, configuration(Path.cwd()))
    folder = data_folder(os.environ, sys.platform)
    if folder is None:
        raise UsageError("there is no folder for the user's data here", hint="name one in GRADCOMPAT_DATA")
    path = stored_path(folder, channel.url if channel.project else None)
    shipped, shown, now = load(), named(channel.url), datetime.now(timezone.utc)
    envelope = loads(fetched(channel.url), shown)
    data, key = verified(envelope, channel.keys, shown)
    payload = read_payload(data, shown)
    check_times(payload, now, shown)
    base = check_records(payload, shipped, shown)

    def before() -> Stored | None:
        return _trusted(path, channel.keys)

    def newer(there: Stored | None) -> bool:
        return check_newer(payload, data, there, shipped.date, shown)

    if dry_run:
        there = before()
        same = not newer(there)
    else:
        stored = Stored(
            url=shown,
            key=key.id,
            serial=payload.serial,
            own=bool(payload.own),
            fetched=now,
            signatures=envelope.signatures,
            payload=data,
        )
        done = install(path, stored, before, newer)
        there, same = done.before, done.same
    said = "is here already" if same else "would be installed" if dry_run else "is installed"
    sys.stdout.write(f"{_what(payload, base)} {said}\n")
    if not same:
        for line in _changes(_earlier(there, shipped), base):
            sys.stdout.write(f"  {safe(line)}\n")
    sys.stdout.write(f"signed by {key.id}; its publisher stands for it until {moment_text(payload.expires)}\n")
    return 0


def channel_of(url: str | None, keys: Sequence[str], environ: Mapping[str, str], kept: Mapping[str, Any]) -> Channel:
    """Options count more than variables of the environment, and these more than the nearest pyproject.toml.

    Raises:
        UsageError: if the URL or the key is missing, or makes no sense.
    """
    stated = kept.get("update", {})
    said = url or environ.get(UPDATE_URL)
    pinned = list(keys) or environ.get(UPDATE_KEY, "").split()
    project = not said and not pinned
    if project:
        said, pinned = stated.get("url"), list(stated.get("key", ()))
    if not said and not pinned:
        raise UsageError(
            "it is not said where newer knowledge is",
            hint=f"name --url and --key, set {UPDATE_URL} and {UPDATE_KEY}, or write `url` and `key` into "
            "[tool.gradcompat.update] of the pyproject.toml",
        )
    if not said or not pinned:
        what, option, variable = ("key", "--key", UPDATE_KEY) if said else ("URL", "--url", UPDATE_URL)
        raise UsageError(f"the {what} is missing", hint=f"a URL and a key go together: name {option}, or {variable}")
    if not said.lower().startswith("https://"):
        raise UsageError("knowledge is fetched over https alone", path=named(said))
    return Channel(said, tuple(map(public_key, pinned)), project)


def fetched(url: str) -> bytes:
    """What the server has.

    Raises:
        IndexUnavailable: if it has nothing, too much, or is not reached over https.
    """
    transport = Transport(credentials=Credentials([(url, None)], os.environ).of, limits=LIMITS)
    try:
        return transport.get(url, limit=MAX_BYTES, accepted=(200,)).content
    finally:
        transport.close()


def check_records(payload: Payload, shipped: KnowledgeBase, shown: str) -> KnowledgeBase:
    """The knowledge base that a payload makes. Its records are checked as those of an author are.

    A probe whose recipe is not in this gradcompat is no mistake: it is skipped, with that reason, when it is asked for.

    Raises:
        KnowledgeError: if a record is not right, or says what this gradcompat does not understand.
    """
    base = shipped
    if payload.knowledge is not None:
        authored = checked(payload.knowledge, shown, newer_recipes=True)
        for record in authored.records:
            if not record.id.startswith("GC-"):
                raise KnowledgeError(f"has {record.id} among the records of gradcompat", path=shown)
        base = knowledge_from(payload.knowledge, shown)
    for name, compiled in payload.own:
        where = f"{shown} ({name})"
        problems = own_problems(checked(compiled, where, newer_recipes=True), base)
        if problems:
            raise KnowledgeError(f"{problems[0].record or 'records'}: {problems[0].message}", path=where)
        own = knowledge_from(compiled, where)
        base = joined(base, own, own.sources[0])
    return base


def _trusted(path: Path, keys: Sequence[PublicKey]) -> Stored | None:
    """What is stored, if it is sound and of a key that is still pinned: only that says what would be a step back."""
    try:
        stored = read_stored(path)
        if stored is not None:
            verified(Envelope(stored.payload, stored.signatures), keys, str(path))
    except KnowledgeError as error:
        sys.stderr.write(f"note: {safe(str(error))}: it does not count any more\n")
        return None
    return stored


def _earlier(there: Stored | None, shipped: KnowledgeBase) -> KnowledgeBase:
    if there is None:
        return shipped
    payload = read_payload(there.payload, there.url)
    base = shipped if payload.knowledge is None else knowledge_from(payload.knowledge, there.url)
    for name, compiled in payload.own:
        own = knowledge_from(compiled, name)
        base = joined(base, own, own.sources[0])
    return base


def _what(payload: Payload, base: KnowledgeBase) -> str:
    own = sum(len(compiled["issues"]) for _, compiled in payload.own)
    parts = [f"{counted(len(base.records) - own, 'record')} of {base.date}"] if payload.knowledge is not None else []
    if own:
        parts.append(f"{counted(own, 'record')} of {', '.join(name for name, _ in payload.own)}")
    return f"{safe(' and '.join(parts))} (serial {payload.serial})"


def _changes(before: KnowledgeBase, after: KnowledgeBase) -> list[str]:
    """What is new, another than before, and gone."""
    was = {record["id"]: record for record in before.records}
    now = {record["id"]: record for record in after.records}
    new = [identifier for identifier in now if identifier not in was]
    changed = [identifier for identifier in now if identifier in was and now[identifier] != was[identifier]]
    gone = [identifier for identifier in was if identifier not in now]
    return [
        f"{word}: {', '.join(ids[:20])}{f' and {len(ids) - 20} more' if len(ids) > 20 else ''}"
        for word, ids in (("new", new), ("changed", changed), ("gone", gone))
        if ids
    ]
