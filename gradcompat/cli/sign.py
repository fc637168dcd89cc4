"""``gradcompat knowledge sign`` and ``key``: the publishing side of ``gradcompat update``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from packaging.version import InvalidVersion, Version

from gradcompat._version import __version__
from gradcompat.database.private import compiled_places
from gradcompat.errors import UsageError
from gradcompat.knowledge.envelope import MAX_BYTES
from gradcompat.knowledge.load import COMPILED, load
from gradcompat.knowledge.payload import LARGEST_SERIAL, moment_text, payload_bytes, serial_at, serial_of
from gradcompat.knowledge.signing import new_private_key, private_key, public_of, signed
from gradcompat.messages import counted


def run_key(path: str, *, new: bool) -> int:
    """Print the public half of a private key, which is made before if that is asked for.

    Raises:
        UsageError: if there is no such key, or it cannot be written.
    """
    key = new_private_key(Path(path)) if new else private_key(Path(path))
    sys.stdout.write(f"{public_of(key)}\n")
    return 0


def run(
    keys: Sequence[str],
    output: str,
    *,
    knowledge: Sequence[str],
    own_only: bool,
    serial: int | None,
    days: int,
    minimum: str | None,
) -> int:
    """Write records and their signatures into one file, for a server to hand out.

    Args:
        keys: private keys; all of them sign.
        output: the file.
        knowledge: somebody's own records, which go with it.
        own_only: without the records that ship with gradcompat.
        serial: of the records; by default the minute.
        days: how long the publisher stands for it.
        minimum: the oldest gradcompat that understands it; by default this one.

    Raises:
        UsageError: if an option makes no sense, or the file cannot be written.
        KnowledgeError: if the records are not right.
    """
    if own_only and not knowledge:
        raise UsageError("without --knowledge there are no records of one's own", hint="name them, or sign all")
    signers = [private_key(Path(one)) for one in keys]
    shipped, now = load(), datetime.now(timezone.utc).replace(microsecond=0)
    number = serial_at(now) if serial is None else serial
    if not 0 < number < LARGEST_SERIAL:
        raise UsageError(f"`--serial {number}` is no serial", hint=f"it is between 1 and {LARGEST_SERIAL - 1}")
    if not own_only and number < serial_of(shipped.date):
        raise UsageError(
            f"`--serial {number}` is older than these records, of {shipped.date}",
            hint=f"nobody would take it: {serial_of(shipped.date)} is their own",
        )
    own = compiled_places(knowledge, shipped)
    payload = payload_bytes(
        serial=number,
        published=now,
        expires=now + timedelta(days=days),
        minimum=_version(minimum),
        knowledge=None if own_only else json.loads(COMPILED.read_bytes()),
        own=[(Path(name).name, compiled) for name, compiled in own],
    )
    data = signed(payload, signers)
    if len(data) > MAX_BYTES:
        raise UsageError(f"would be larger than {MAX_BYTES // 2**20} MiB, which nobody takes")
    _write(Path(output), data)
    records = sum(len(compiled["issues"]) for _, compiled in own) + (0 if own_only else len(shipped.records))
    until, ids = moment_text(now + timedelta(days=days)), ", ".join(public_of(one).id for one in signers)
    sys.stdout.write(
        f"{counted(records, 'record')} written to {output}: serial {number}, until {until}, signed by {ids}\n"
    )
    return 0


def _version(text: str | None) -> str:
    try:
        return str(Version(text or __version__))
    except InvalidVersion:
        raise UsageError(f"`--minimum {text}` is not a version") from None


def _write(path: Path, data: bytes) -> None:
    """A server that hands it out while it is written hands out the old one, or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None
