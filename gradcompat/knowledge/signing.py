"""Ed25519 over envelopes, by the library ``cryptography``; imported only where something is signed or verified."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.knowledge.envelope import Envelope, PublicKey, Signature, dumps, signed_bytes


def verified(envelope: Envelope, keys: Sequence[PublicKey], shown: str) -> tuple[bytes, PublicKey]:
    """The payload, and the pinned key that has signed it.

    Raises:
        KnowledgeError: if none of them has.
    """
    message = signed_bytes(envelope.payload)
    for key in keys:
        for signature in envelope.signatures:
            try:
                Ed25519PublicKey.from_public_bytes(key.raw).verify(signature.value, message)
            except (InvalidSignature, ValueError):
                continue
            return envelope.payload, key
    known = {one.key for one in envelope.signatures} & {key.id for key in keys}
    reason = (
        "was changed after it was signed: the signature of the pinned key is not right"
        if known
        else "is not signed by a key that is pinned here"
    )
    raise KnowledgeError(reason, path=shown)


def signed(payload: bytes, keys: Sequence[Ed25519PrivateKey]) -> bytes:
    """The envelope of a payload with a signature of each key."""
    message = signed_bytes(payload)
    return dumps(payload, [Signature(public_of(key).id, key.sign(message)) for key in keys])


def public_of(key: Ed25519PrivateKey) -> PublicKey:
    """The public half."""
    return PublicKey(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))


def private_key(path: Path) -> Ed25519PrivateKey:
    """A private key from a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it.

    Raises:
        UsageError: if it cannot be read, has a password, or is another kind of key.
    """
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except TypeError:
        raise UsageError("has a password: sign with a copy that has none", path=str(path)) from None
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError("is no private key in PEM", path=str(path)) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError("is no Ed25519 key", path=str(path), hint="`gradcompat knowledge key --new FILE` makes one")
    return key


def new_private_key(path: Path) -> Ed25519PrivateKey:
    """Make a key and write it where nothing is yet, readable by its owner alone.

    Raises:
        UsageError: if it cannot be written there.
    """
    key = Ed25519PrivateKey.generate()
    data = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
    except FileExistsError:
        raise UsageError("is there already, and no key is written over", path=str(path)) from None
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", path=str(path)) from None
    return key
