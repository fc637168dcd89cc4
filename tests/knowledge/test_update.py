"""The envelope, the payload and the stored file, whatever stands in them."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat import __version__
from gradcompat.errors import KnowledgeError, UsageError
from gradcompat.knowledge import stored
from gradcompat.knowledge.envelope import PAYLOAD_TYPE, Envelope, PublicKey, Signature, loads, public_key, signed_bytes
from gradcompat.knowledge.folder import stored_path
from gradcompat.knowledge.payload import payload_bytes, read_payload, serial_at, serial_of
from gradcompat.knowledge.signing import public_of, signed, verified
from gradcompat.knowledge.stored import Stored, read_stored
from gradcompat.user_folders import data_folder

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = public_of(KEY)
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=timezone.utc)
OWN: dict[str, Any] = {"issues": []}


def payload() -> bytes:
    return payload_bytes(
        serial=7,
        published=NOW,
        expires=NOW + timedelta(days=90),
        minimum=__version__,
        knowledge=None,
        own=[("acme.yaml", OWN)],
    )


def test_what_is_signed_is_the_encoding_of_dsse() -> None:
    # The example of the specification's protocol.md has another type; this is its rule by hand.
    assert signed_bytes(b"hello") == b"DSSEv1 41 application/vnd.gradcompat.knowledge+json 5 hello"
    assert len(PAYLOAD_TYPE) == 41


def test_there_and_back() -> None:
    envelope = loads(signed(payload(), [KEY]), "acme.signed")
    assert envelope.payload == payload()
    assert [one.key for one in envelope.signatures] == [PUBLIC.id]
    assert verified(envelope, [PUBLIC], "acme.signed") == (payload(), PUBLIC)
    found = read_payload(envelope.payload, "acme.signed")
    assert (found.serial, found.published, found.expires) == (7, NOW, NOW + timedelta(days=90))
    assert found.own == (("acme.yaml", OWN),)


def test_the_id_of_a_key_is_only_a_hint() -> None:
    right = loads(signed(payload(), [KEY]), "acme.signed").signatures[0].value
    envelope = Envelope(payload(), (Signature("somebody", right),))
    assert verified(envelope, [PUBLIC], "acme.signed")[1] == PUBLIC
    other = public_of(Ed25519PrivateKey.generate())
    with pytest.raises(KnowledgeError, match="is not signed by a key that is pinned here"):
        verified(Envelope(payload(), (Signature(PUBLIC.id, right),)), [other], "acme.signed")


@given(place=st.integers(min_value=0), value=st.integers(min_value=0, max_value=255))
def test_a_byte_that_was_changed(place: int, value: int) -> None:
    """It makes another payload, or no envelope: never this one with another content."""
    data = bytearray(signed(payload(), [KEY]))
    data[place % len(data)] = value
    try:
        found, _ = verified(loads(bytes(data), "acme.signed"), [PUBLIC], "acme.signed")
    except KnowledgeError:
        return
    assert found == payload()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(
    data=st.binary(max_size=200)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries(
        {"payloadType": st.just(PAYLOAD_TYPE) | JSON, "payload": st.just("e30=") | JSON, "signatures": JSON}
    ).map(lambda value: json.dumps(value).encode())
)
def test_whatever_comes(data: bytes) -> None:
    with pytest.raises(KnowledgeError) as caught:
        verified(loads(data, "acme.signed"), [PUBLIC], "acme.signed")
    assert caught.value.path == "acme.signed"


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"payload": ' * 50_000, b'{"payload": 1' + b"0" * 10_000 + b"}"])
def test_what_is_made_to_exhaust_a_reader(data: bytes) -> None:
    with pytest.raises(KnowledgeError):
        loads(data, "acme.signed")


def test_signatures_without_end() -> None:
    whole = json.loads(signed(payload(), [KEY]))
    whole["signatures"] *= 17
    with pytest.raises(KnowledgeError, match="has more than 16 signatures"):
        loads(json.dumps(whole).encode(), "acme.signed")


@given(data=st.binary(max_size=100) | JSON.map(lambda value: json.dumps(value).encode()))
def test_whatever_was_signed(data: bytes) -> None:
    with pytest.raises(KnowledgeError):
        read_payload(data, "acme.signed")


@given(key=st.sampled_from(sorted(json.loads(payload()))), value=JSON)
def test_whatever_stands_in_a_payload(key: str, value: object) -> None:
    data = json.dumps({**json.loads(payload()), key: value}).encode()
    try:
        found = read_payload(data, "acme.signed")
    except KnowledgeError:
        return
    assert found.serial > 0
    assert found.expires.tzinfo is not None


def test_serials_of_a_day_are_behind_that_of_the_day() -> None:
    assert serial_of("2026-11-22") < serial_at(NOW) < serial_of("2026-11-23")


def test_keys_as_they_are_pinned(tmp_path: Path) -> None:
    assert public_key(str(PUBLIC)) == PUBLIC
    lines = ["-----BEGIN PUBLIC KEY-----", "MCowBQYDK2VwAyEA" + base64.b64encode(PUBLIC.raw).decode()]
    path = tmp_path / "key.pem"
    path.write_text("\n".join([*lines, "-----END PUBLIC KEY-----", ""]), "ascii")
    assert public_key(str(path)) == PUBLIC
    path.write_text("\r\n".join([*lines, "-----END PUBLIC KEY-----"]), "ascii")
    assert public_key(str(path)) == PUBLIC


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAB\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEA" + b"A" * 43 + b"=\n-----END PUBLIC KEY-----\n",  # X25519
        b"\xff\xfe",
        b"-----BEGIN PUBLIC KEY-----",
    ],
)
def test_what_is_no_key(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        public_key(str(tmp_path / "key.pem"))
    assert caught.value.path == str(tmp_path / "key.pem")


@given(text=st.text(max_size=60))
def test_whatever_is_pinned(text: str) -> None:
    with pytest.raises(UsageError):
        public_key(f"ed25519:{text}")


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    one = Stored(
        url="https://a.example/k",
        key=PUBLIC.id,
        serial=7,
        own=True,
        fetched=NOW,
        signatures=(Signature(PUBLIC.id, bytes(64)),),
        payload=payload(),
    )
    path = tmp_path / "user.signed"
    assert read_stored(path) is None
    path.write_bytes(stored.dumps(one))
    assert read_stored(path) == one


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(min_value=0), value=st.integers(min_value=0, max_value=255), cut=st.booleans())
def test_a_stored_file_with_a_byte_that_was_changed(tmp_path: Path, place: int, value: int, cut: bool) -> None:
    one = Stored(url="u", key="k", serial=7, own=True, fetched=NOW, signatures=(), payload=payload())
    data = bytearray(stored.dumps(one))
    if cut:
        del data[place % len(data) :]
    else:
        data[place % len(data)] = value
    path = tmp_path / "user.signed"
    path.write_bytes(data)
    try:
        found = read_stored(path)
    except KnowledgeError:
        return
    assert found is not None
    assert found.payload == payload()


@pytest.mark.parametrize(
    ("environ", "platform", "folder"),
    [
        ({"GRADCOMPAT_DATA": "/data"}, "linux", "/data"),
        ({"HOME": "/home/me"}, "linux", "/home/me/.local/share/gradcompat"),
        ({"HOME": "/home/me", "XDG_DATA_HOME": "/x"}, "linux", "/x/gradcompat"),
        ({"HOME": "/home/me", "XDG_DATA_HOME": "x"}, "linux", "/home/me/.local/share/gradcompat"),
        ({"HOME": "/Users/me"}, "darwin", "/Users/me/Library/Application Support/gradcompat"),
        ({"LOCALAPPDATA": "/l"}, "win32", "/l/gradcompat/Data"),
        ({}, "linux", None),
        ({}, "darwin", None),
        ({}, "win32", None),
    ],
)
def test_where_data_lie(environ: dict[str, str], platform: str, folder: str | None) -> None:
    found = data_folder(environ, platform)
    assert (None if found is None else found.as_posix()) == folder


def test_what_projects_ask_for_is_kept_apart() -> None:
    paths = {stored_path(Path("d"), url) for url in (None, "https://a.example/k", "https://b.example/k")}
    assert len(paths) == 3
    assert isinstance(PUBLIC, PublicKey)
