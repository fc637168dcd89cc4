"""Entries in the cache of the user: each a file of its own, which is whole or does not count.

An entry has one of a fixed number of places, which the next one that falls there takes over: so a folder is bounded,
and nothing has to be counted or removed. A file is replaced as a whole and begins with the digest of the rest, so one
that was cut off, changed, or written by two processes at once is no entry. What cannot be written is not kept, and
nobody is told.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

try:
    from _blake2 import blake2b  # a module of Python itself; hashlib takes two milliseconds for OpenSSL's digests
except ImportError:
    from hashlib import blake2b

LARGEST_ENTRY = 512 * 1024  # the report of one large lock as JSON has more than half of it
PLACES = 256
_DIGEST = 20  # bytes


def digest(data: bytes) -> str:
    """What some bytes are told by."""
    return blake2b(data, digest_size=_DIGEST).hexdigest()


def key_of(parts: Iterable[bytes]) -> str:
    """What several texts together are told by."""
    whole = blake2b(digest_size=_DIGEST)
    for part in parts:
        whole.update(b"%d " % len(part))
        whole.update(part)
    return whole.hexdigest()


def place_of(folder: str, key: str) -> str:
    """The file for an entry with that key."""
    return os.path.join(folder, f"{int(key[:8], 16) % PLACES:02x}")


def read_entry(place: str) -> bytes | None:
    """What stands in a place; None if there is nothing, or nothing sound."""
    try:
        with open(place, "rb") as file:
            said, _, body = file.read(LARGEST_ENTRY + 1).partition(b"\n")
    except (OSError, ValueError):
        return None
    return body if digest(body).encode() == said else None


def write_entry(place: str, body: bytes) -> None:
    """Put something in a place, unless it is too large or cannot be written."""
    data = digest(body).encode() + b"\n" + body
    if len(data) > LARGEST_ENTRY:
        return
    # One name for each place: what a kill leaves is written over, and no more of it than there are places.
    staged = f"{place}.staged"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with suppress(OSError, ValueError):
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        with open(os.open(staged, flags, 0o600), "wb") as file:
            file.write(data)
        os.replace(staged, place)
