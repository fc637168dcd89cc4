"""The fetched knowledge on this machine: one file, which is only ever replaced as a whole.

It is a line of JSON (where it came from, when, whose signature it had, the checksum of the rest) and the payload. Its
signature was verified before it was written. Reading it compares the checksum alone, which shows a broken disk and not
an attacker: who can write into this folder can as well replace gradcompat, and the library that verifies takes a tenth
of the time of a whole check to be imported. The signatures are kept, and `update` verifies them again.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.envelope import MAX_BYTES, Signature
from gradcompat.knowledge.payload import moment_of, moment_text

_FORM = 1
_LONGEST_HEADER = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was fetched.

    Attributes:
        url: where from.
        key: the id of the key that had signed it.
        serial: of the payload.
        own: does it have somebody's own records?
        fetched: when it was last seen to be the newest.
        signatures: of the payload.
        payload: the bytes that were signed.
    """

    url: str
    key: str
    serial: int
    own: bool
    fetched: datetime
    signatures: tuple[Signature, ...]
    payload: bytes = field(repr=False)


def read_stored(path: Path) -> Stored | None:
    """What is stored there; None if nothing is.

    Raises:
        KnowledgeError: if it is not what was written.
    """
    try:
        with path.open("rb") as file:
            head = file.readline(_LONGEST_HEADER)
            payload = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise KnowledgeError(f"cannot be read: {error.strerror}", path=str(path)) from None
    try:
        header = json.loads(head)
        if header["form"] != _FORM:
            raise KnowledgeError("was written by a newer gradcompat", path=str(path))
        if hashlib.sha256(payload).hexdigest() != header["sha256"]:
            raise ValueError("checksum")
        return Stored(
            url=str(header["url"]),
            key=str(header["key"]),
            serial=int(header["serial"]),
            own=bool(header["own"]),
            fetched=moment_of(header["fetched"]),
            signatures=tuple(Signature(str(key), base64.b64decode(sig)) for key, sig in header["signatures"]),
            payload=payload,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise KnowledgeError("is broken", path=str(path)) from None


def dumps(stored: Stored) -> bytes:
    """The file as :func:`read_stored` reads it."""
    header = {
        "form": _FORM,
        "url": stored.url,
        "key": stored.key,
        "serial": stored.serial,
        "own": stored.own,
        "fetched": moment_text(stored.fetched),
        "sha256": hashlib.sha256(stored.payload).hexdigest(),
        "signatures": [[one.key, base64.b64encode(one.value).decode("ascii")] for one in stored.signatures],
    }
    return json.dumps(header).encode("ascii") + b"\n" + stored.payload
