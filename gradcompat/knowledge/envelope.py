"""The envelope of signed knowledge, and public keys as they are pinned. Nothing here computes a signature.

The envelope is DSSE (https://github.com/secure-systems-lab/dsse): a JSON object with the payload in base64, its type,
and signatures over ``DSSEv1 <length> <type> <length> <payload>``. So a signature of anything else, by the same key, is
none of knowledge. The payload is bytes here, and nobody looks into it before a signature was verified.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.regular_files import read_regular

PAYLOAD_TYPE = "application/vnd.gradcompat.knowledge+json"
MAX_BYTES = 32 * 2**20
_MOST_SIGNATURES = 16
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
_PREFIX = "ed25519:"

# What stands before the 32 bytes of a key in a SubjectPublicKeyInfo of Ed25519 (RFC 8410, section 4).
_SPKI = bytes.fromhex("302a300506032b6570032100")
_PEM = ("-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The public half of an Ed25519 key."""

    raw: bytes

    @property
    def id(self) -> str:
        """Short, and the same for everybody."""
        return hashlib.sha256(self.raw).hexdigest()[:16]

    def __str__(self) -> str:
        return _PREFIX + base64.b64encode(self.raw).decode("ascii")


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature, and the id of the key that it says to be of, which is only a hint."""

    key: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload that nobody has looked into, and its signatures."""

    payload: bytes = field(repr=False)
    signatures: tuple[Signature, ...]


def public_key(text: str) -> PublicKey:
    """A key as it is pinned: ``ed25519:`` and 32 bytes in base64, or the path of a PEM file.

    Raises:
        UsageError: if it is none.
    """
    if text.startswith(_PREFIX):
        raw = _bytes(text.removeprefix(_PREFIX))
        if raw is None or len(raw) != _KEY_BYTES:
            raise UsageError("the key is not `ed25519:` and 32 bytes in base64", hint=_HINT)
        return PublicKey(raw)
    try:
        lines = read_regular(text, 10_000).decode("ascii").split()
    except OSError as error:
        raise UsageError(f"cannot be read as a key: {error.strerror}", path=text, hint=_HINT) from None
    except ValueError:
        raise UsageError("is no public key in PEM", path=text, hint=_HINT) from None
    joined = " ".join(lines)
    body = joined.removeprefix(_PEM[0]).removesuffix(_PEM[1])
    der = _bytes(body.replace(" ", "")) if len(body) == len(joined) - sum(map(len, _PEM)) else None
    if der is None or not der.startswith(_SPKI) or len(der) != len(_SPKI) + _KEY_BYTES:
        raise UsageError("is no public Ed25519 key in PEM", path=text, hint=_HINT)
    return PublicKey(der.removeprefix(_SPKI))


_HINT = "`gradcompat knowledge key FILE` prints the public half of a private key"


def signed_bytes(payload: bytes) -> bytes:
    """What a signature is over: DSSE's pre-authentication encoding."""
    kind = PAYLOAD_TYPE.encode("ascii")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def dumps(payload: bytes, signatures: Sequence[Signature]) -> bytes:
    """The envelope as a file."""
    data = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode("ascii"),
        "signatures": [{"keyid": one.key, "sig": base64.b64encode(one.value).decode("ascii")} for one in signatures],
    }
    return json.dumps(data, indent=1).encode("ascii") + b"\n"


def loads(data: bytes, shown: str) -> Envelope:
    """Take an envelope apart; whether it is worth anything, its signatures say.

    Raises:
        KnowledgeError: if it is none.
    """
    if len(data) > MAX_BYTES:
        raise KnowledgeError(f"is larger than {MAX_BYTES // 2**20} MiB", path=shown)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise KnowledgeError("is no signed knowledge, or only a part of it: it is not JSON", path=shown) from None
    if not isinstance(found, dict) or "payload" not in found:
        raise KnowledgeError("is no signed knowledge: it has no payload", path=shown)
    if found.get("payloadType") != PAYLOAD_TYPE:
        raise KnowledgeError(f"is no signed knowledge: its payload is not {PAYLOAD_TYPE}", path=shown)
    payload = _bytes(found["payload"])
    if payload is None:
        raise KnowledgeError("is no signed knowledge: its payload is not base64", path=shown)
    listed = found.get("signatures")
    if not isinstance(listed, list) or not listed:
        raise KnowledgeError("is not signed", path=shown)
    if len(listed) > _MOST_SIGNATURES:
        raise KnowledgeError(f"has more than {_MOST_SIGNATURES} signatures", path=shown)
    return Envelope(payload, tuple(_signature(one, shown) for one in listed))


def _signature(found: object, shown: str) -> Signature:
    value = _bytes(found.get("sig")) if isinstance(found, dict) else None
    if not isinstance(found, dict) or value is None or len(value) != _SIGNATURE_BYTES:
        raise KnowledgeError("has a signature that is none of Ed25519", path=shown)
    key = found.get("keyid", "")
    return Signature(key if isinstance(key, str) else "", value)


def _bytes(text: object) -> bytes | None:
    """What stands there in base64; None if it is anything else."""
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (ValueError, binascii.Error):
        return None
