"""Lockfiles that an earlier check has read, by the digest of their content, in the cache of the user.

What is read of a lockfile follows from its bytes, from how it is called and from the code that reads it; these are the
key of an entry. An entry is a file in one of a fixed number of places, which the next one that falls there replaces: so
the folder is bounded, and nothing has to be counted or removed. It is replaced as a whole and begins with the digest of
the rest, so an entry that was cut off, changed, or written by two processes at once is none. What cannot be written is
not kept, and nobody is told: the lockfile itself is always there.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePath

from gradcompat._version import __version__
from gradcompat.audit.environment_record import environment_from, record_of
from gradcompat.dependency_formats import by_name
from gradcompat.formats.document import document_of, read_content
from gradcompat.model.environment import Environment
from gradcompat.root import Root
from gradcompat.sources.any_format import read

try:
    from _blake2 import blake2b  # a module of Python itself; hashlib takes two milliseconds for OpenSSL's digests
except ImportError:
    from hashlib import blake2b

LARGEST_ENTRY = 256 * 1024
PLACES = 256
_FORM = "locks-1"
_DIGEST = 20  # bytes
_READING = ("", "formats", "model", "sources")  # folders of the code that decides what is read


def read_lock(path: Path, shown: str, root: Root | None, cache: Path) -> Environment:
    """The environment of a lockfile: what was kept of it, or else read from it now and kept.

    Args:
        path: the file, which may also be of a format of which nothing is kept.
        shown: how it is called to the user.
        root: where it has to lie, unless the user has named it.
        cache: the cache folder of the user.

    Raises:
        SourceError: if it cannot be read.
    """
    content = read_content(path, shown, root)
    expected = by_name(PurePath(shown).name)
    if expected is None or not expected.lock:
        return read(document_of(content, shown, path, root))
    key = _key(content, shown)
    place = cache / _FORM / f"{int(key[:8], 16) % PLACES:02x}"
    kept = _kept(place, key)
    if kept is not None:
        return kept
    environment = read(document_of(content, shown, path, root))
    # What only bears the name of a lockfile may be a list that refers to other files.
    if environment.kind == expected.kind and (record := record_of(environment)) is not None:
        _keep(place, json.dumps({"key": key, "environment": record}).encode())
    return environment


def _key(content: bytes, shown: str) -> str:
    whole = blake2b(digest_size=_DIGEST)
    for part in (__version__.encode(), _code(), os.fsencode(shown), content):
        whole.update(b"%d " % len(part))
        whole.update(part)
    return whole.hexdigest()


def _code() -> bytes:
    """Which code reads: modules are changed between two versions where gradcompat itself is worked on."""
    package = os.path.dirname(os.path.dirname(__file__))
    found: list[str] = []
    for folder in _READING:
        with suppress(OSError), os.scandir(os.path.join(package, folder)) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    found.append(f"{folder}/{entry.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(sorted(found)).encode("utf-8", "surrogatepass")


def _kept(place: Path, key: str) -> Environment | None:
    """What stands in a place under that key; None if there is nothing, or nothing sound."""
    try:
        with open(place, "rb") as file:
            digest, _, body = file.read(LARGEST_ENTRY + 1).partition(b"\n")
        if blake2b(body, digest_size=_DIGEST).hexdigest().encode() != digest:
            return None
        entry = json.loads(body)
        return environment_from(entry["environment"]) if entry["key"] == key else None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _keep(place: Path, body: bytes) -> None:
    data = blake2b(body, digest_size=_DIGEST).hexdigest().encode() + b"\n" + body
    if len(data) > LARGEST_ENTRY:
        return
    # One name for each place: what a kill leaves is written over, and no more of it than there are places.
    staged = place.with_suffix(".staged")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with suppress(OSError, ValueError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(staged, flags, 0o600), "wb") as file:
            file.write(data)
        os.replace(staged, place)
