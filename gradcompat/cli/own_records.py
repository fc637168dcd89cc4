"""Somebody's own records from files, folders and URLs, checked as those that ship are."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gradcompat import __version__
from gradcompat.cli.knowing import say
from gradcompat.errors import IndexUnavailable, KnowledgeError, UsageError
from gradcompat.index.cache import Cache
from gradcompat.knowledge.load import KnowledgeBase, joined, knowledge_from
from gradcompat.regular_files import read_regular
from gradcompat.user_folders import cache_folder

MAX_FILE = 8 * 2**20
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SUFFIXES = (".yaml", ".yml")


def with_place(base: KnowledgeBase, place: str) -> KnowledgeBase:
    """The knowledge base with the records that a path or a URL names.

    Raises:
        UsageError: if it names none.
        KnowledgeError: if they are not right.
    """
    for file in files_of(place):
        base = with_file(base, file)
    return base


def with_file(base: KnowledgeBase, file: OwnFile) -> KnowledgeBase:
    """The knowledge base with the records of one more file.

    Raises:
        KnowledgeError: if they are not right, or an id of them is taken.
    """
    base = _with_own(base, file.name, _compiled(file, base))
    file.keep()
    return base


def _with_own(base: KnowledgeBase, name: str, compiled: dict[str, Any]) -> KnowledgeBase:
    own = knowledge_from(compiled, name)
    return joined(base, own, replace(own.sources[0], kind="private", name=name))


def compiled_places(places: Sequence[str], base: KnowledgeBase) -> list[tuple[str, dict[str, Any]]]:
    """The compiled records of files, folders and URLs by their names; checked, also against one another."""
    found = []
    for place in dict.fromkeys(places):
        for file in files_of(place):
            compiled = _compiled(file, base)
            base = _with_own(base, file.name, compiled)
            found.append((file.name, compiled))
    return found


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of records.

    Attributes:
        name: what messages call it.
        content: its bytes.
        path: where it is, if it is on this machine.
        keep: to be called when it was found right.
    """

    name: str
    content: bytes
    path: Path | None = None
    keep: Callable[[], None] = lambda: None

    @property
    def text(self) -> str:
        """Its content as text.

        Raises:
            KnowledgeError: if it is none.
        """
        try:
            return self.content.decode("utf-8")
        except UnicodeDecodeError:
            raise KnowledgeError("is not UTF-8 text", path=self.name) from None


def files_of(place: str) -> Iterator[OwnFile]:
    """The files of records that a path or a URL names.

    Raises:
        UsageError: if it names none.
        KnowledgeError: if one cannot be had.
    """
    if _URL.match(place):
        yield _downloaded(place)
        return
    if not place:
        raise UsageError("`--knowledge` names nothing", hint="name a file, a folder or an https address")
    path = Path(place)
    if not os.path.isdir(path):
        yield OwnFile(place, _content(path, place), path)
        return
    try:
        found = sorted(one for one in path.iterdir() if one.suffix in _SUFFIXES and not one.name.startswith("."))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=place) from None
    if not found:
        raise UsageError("holds no file of records", path=place, hint="records stand in files that end with .yaml")
    for one in found:
        shown = (Path(place) / one.name).as_posix()
        yield OwnFile(shown, _content(one, shown), one)


def _content(path: Path, shown: str) -> bytes:
    try:
        content = read_regular(path, MAX_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=shown) from None
    if len(content) > MAX_FILE:
        raise UsageError(f"is larger than {MAX_FILE // 2**20} MiB", path=shown)
    return content


def _compiled(file: OwnFile, base: KnowledgeBase) -> dict[str, Any]:
    """The records of a file, checked; what was checked before, by the same gradcompat beside the same records, is kept.

    Checking takes as long as several checks of a lockfile: the schema, every example, what was measured.
    """
    beside = [] if file.path is None else sorted((file.path.parent / "measured").glob("*.jsonl"))
    whole = hashlib.sha256()
    for part in (__version__.encode(), base.digest.encode(), file.name.encode("utf-8", "replace"), file.content):
        whole.update(b"%d " % len(part) + part)
    try:
        for one in beside:
            whole.update(read_regular(one))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=str(one)) from None
    cache = Cache(cache_folder(os.environ, sys.platform))
    entry = cache.read("checked-records", whole.hexdigest())
    if entry is not None:
        try:
            kept = json.loads(entry.parts[0])
            if isinstance(kept, dict):
                return kept
        except (ValueError, IndexError):
            pass
    from gradcompat.knowledge.matrix import load_rows
    from gradcompat.knowledge.measured import read_rows
    from gradcompat.knowledge.private import compiled_own

    rows = (*load_rows(), *(read_rows(file.path.parent / "measured") if file.path is not None and beside else ()))
    compiled = compiled_own(file.content, file.name, rows, base)
    cache.write("checked-records", whole.hexdigest(), [json.dumps(compiled).encode()])
    return compiled


def _downloaded(url: str) -> OwnFile:
    """What an https server has; its last answer, with the age of it said, where it does not answer now."""
    from gradcompat.index.credentials import Credentials
    from gradcompat.index.limits import Limits
    from gradcompat.index.location import named
    from gradcompat.index.transport import Transport

    shown = named(url)
    if not url.lower().startswith("https://"):
        raise UsageError("records are fetched over https alone", path=shown, hint="or name a file, or a folder")
    credentials = Credentials([(url, None)], os.environ)
    cache = Cache(cache_folder(os.environ, sys.platform))
    # A token in the address is nothing to keep on a disk.
    key = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()
    entry = cache.read("own-records", key)
    headers = {"if-none-match": entry.meta["etag"]} if entry is not None and "etag" in entry.meta else {}
    # With a copy at hand a server that does not answer is not worth a minute.
    limits = Limits(attempts=1, silence=5.0) if entry is not None else Limits(attempts=2)
    transport = Transport(credentials=credentials.of, limits=limits)
    try:
        answer = transport.get(url, limit=MAX_FILE, headers=headers, accepted=(200, 304) if entry else (200,))
    except IndexUnavailable as error:
        if entry is None:
            raise KnowledgeError(f"{error.message}, and no copy of its records is here", path=shown) from None
        days = max(0, int(entry.age // 86_400))
        say(f"`{shown}`: {error.message}; its records of {_days_ago(days)} serve")
        return OwnFile(shown, entry.parts[0])
    finally:
        transport.close()
    if answer.status == 304 and entry is not None:
        cache.confirm("own-records", key)
        return OwnFile(shown, entry.parts[0])
    meta = {"etag": answer.headers["etag"]} if "etag" in answer.headers else {}
    return OwnFile(shown, answer.content, keep=lambda: cache.write("own-records", key, [answer.content], meta))


def _days_ago(days: int) -> str:
    return "today" if days == 0 else f"{days} day{'' if days == 1 else 's'} ago"
