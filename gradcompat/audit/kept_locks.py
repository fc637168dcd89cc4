"""Lockfiles that an earlier check has read, by the digest of their content, in the cache of the user.

What is read of a lockfile follows from its bytes, from how it is called and from the code that reads it; these are the
key of an entry (:mod:`gradcompat.files.kept_entries`). What is not kept is read: the lockfile itself is always there.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path, PurePath

from gradcompat._version import __version__
from gradcompat.audit.environment_record import environment_from, record_of
from gradcompat.dependency_formats import by_name
from gradcompat.files.kept_entries import key_of, place_of, read_entry, write_entry
from gradcompat.files.observations import observed
from gradcompat.files.root import Root
from gradcompat.formats.document import document_of, read_content
from gradcompat.model.environment import Environment
from gradcompat.sources.any_format import read

_FORM = "locks-1"
# Folders of the code that decides what is read.
_READING = ("", "files", "formats", "model", "requirements", "sources", "startup")


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
    key = key_of((__version__.encode(), _code(), os.fsencode(shown), content))
    place = place_of(str(cache / _FORM), key)
    kept = _kept(place, key)
    if kept is not None:
        return kept
    environment = read(document_of(content, shown, path, root))
    # What only bears the name of a lockfile may be a list that refers to other files.
    if environment.kind == expected.kind and (record := record_of(environment)) is not None:
        with observed(None):
            write_entry(place, json.dumps({"key": key, "environment": record}).encode())
    return environment


def _code() -> bytes:
    """Which code reads: modules are changed between two versions where gradcompat itself is worked on."""
    package = os.path.dirname(os.path.dirname(__file__))
    found: list[str] = []
    for folder in _READING:
        with observed(None), suppress(OSError), os.scandir(os.path.join(package, folder)) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    found.append(f"{folder}/{entry.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(sorted(found)).encode("utf-8", "surrogatepass")


def _kept(place: str, key: str) -> Environment | None:
    """What stands in a place under that key; None if there is nothing, or nothing sound."""
    with observed(None):  # it says what the lockfile says, which is observed
        body = read_entry(place)
    try:
        entry = json.loads(body or b"null")
        return environment_from(entry["environment"]) if entry["key"] == key else None
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
