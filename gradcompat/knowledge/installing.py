"""Puts fetched knowledge in its place: never an older one, never half of it, and by one process at a time."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout

from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.knowledge.payload import Payload, moment_text, serial_of
from gradcompat.knowledge.stored import Stored, dumps

_LOCK_SECONDS = 10.0
_CLOCKS_DIFFER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Installed:
    """What has come of it: what there was before, and whether it is the same."""

    before: Stored | None
    same: bool


def check_times(payload: Payload, now: datetime, shown: str) -> None:
    """Is it of now?

    Raises:
        KnowledgeError: if it has expired, or comes from a day that has not come.
    """
    if payload.expires <= now:
        said = f"has expired: its publisher stood for it until {moment_text(payload.expires)}"
        raise KnowledgeError(said, path=shown, hint="it may be an old copy; its publisher has to sign again")
    if payload.published > now + _CLOCKS_DIFFER:
        said = f"was published at {moment_text(payload.published)}, which is yet to come"
        raise KnowledgeError(said, path=shown, hint="the clock of its publisher, or of this machine, is wrong")


def check_newer(payload: Payload, data: bytes, before: Stored | None, shipped_date: str, shown: str) -> bool:
    """Is it newer than what is there? False if it is the same.

    Args:
        payload: what was fetched.
        data: its bytes.
        before: what is stored, if anything sound is.
        shipped_date: of the records that ship with the package.
        shown: what messages call it.

    Raises:
        KnowledgeError: if it is older, or other records under the same serial.
    """
    if payload.knowledge is not None and payload.serial < serial_of(shipped_date):
        raise KnowledgeError(
            f"is older (serial {payload.serial}) than the knowledge of {shipped_date} that ships with gradcompat",
            path=shown,
        )
    if before is None:
        return True
    if payload.serial < before.serial:
        said = f"is older (serial {payload.serial}) than what was fetched before (serial {before.serial})"
        raise KnowledgeError(said, path=shown)
    if payload.serial == before.serial and data != before.payload:
        said = f"is something else than what was fetched before under the same serial, {payload.serial}"
        raise KnowledgeError(said, path=shown)
    return payload.serial > before.serial


def install(
    path: Path, stored: Stored, before: Callable[[], Stored | None], newer: Callable[[Stored | None], bool]
) -> Installed:
    """Write what was fetched, if it is newer than what is there at that moment.

    Args:
        path: the file.
        stored: what to write; where the same is there already, only its moment is new.
        before: reads what is there.
        newer: compares, and raises where it must not be written.

    Raises:
        KnowledgeError: if it must not be written.
        UsageError: if it cannot be.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(path.with_suffix(".lock"), timeout=_LOCK_SECONDS):
            there = before()
            same = not newer(there)
            _replace(path, dumps(stored))
            return Installed(there, same)
    except Timeout:
        raise UsageError("another gradcompat is updating it, and does not come to an end", path=str(path)) from None
    except OSError as error:
        reason = error.strerror or error
        hint = "what was there before is still there; GRADCOMPAT_DATA names another folder"
        raise UsageError(f"cannot be written: {reason}", path=str(path), hint=hint) from None


def _replace(path: Path, data: bytes) -> None:
    """All of it is on the disk before it takes the place of the other."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if sys.platform != "win32":  # which cannot open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
