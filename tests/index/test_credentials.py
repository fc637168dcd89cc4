from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.index import credentials as module
from gradcompat.index.credentials import Credential, Credentials, bare, redact_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://index.example/simple", "https://index.example/simple"),
        ("https://me:secret@index.example/simple", "https://index.example/simple"),
        ("https://token@index.example:8443/simple", "https://index.example:8443/simple"),
        ("https://me:sec@ret@index.example/simple", "https://index.example/simple"),
        ("https://me:sec/ret@index.example/simple", "https://index.example/simple"),
        ("https://me:sec?ret#@index.example/simple", "https://index.example/simple"),
        ("https://index.example:443/@scope/simple", "https://index.example:443/@scope/simple"),
        ("https://[::1]:8080/@scope", "https://[::1]:8080/@scope"),
        ("https://me:secret@[::1", "https://[::1"),
        ("file:///wheels/a@b", "file:///wheels/a@b"),
        ("wheels/a@b", "wheels/a@b"),
        ("//me:secret@index.example", "//index.example"),
        ("", ""),
    ],
)
def test_redacted_url(url: str, expected: str) -> None:
    assert redact_url(url) == expected


@given(
    user=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="@/?#\\:"), min_size=1),
    password=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="@"), min_size=1),
)
def test_no_password_is_ever_shown(user: str, password: str) -> None:
    assert redact_url(f"https://{user}:x{password}@index.example/simple") == "https://index.example/simple"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://index.example/simple", ("https://index.example/simple", None, None)),
        ("https://m%40e:s%2Fe@index.example/s?q#f", ("https://index.example/s?q#f", Credential("m@e", "s/e"), "m@e")),
        ("https://me@index.example/s", ("https://index.example/s", None, "me")),
        ("https://me:@index.example/s", ("https://index.example/s", Credential("me", ""), "me")),
        ("https://:token@index.example/s", ("https://index.example/s", Credential("", "token"), "")),
        ("https://@index.example/s", ("https://index.example/s", None, None)),
        ("https://me:pw@[::1", ("https://[::1", None, None)),
    ],
)
def test_bare(url: str, expected: tuple[str, Credential | None, str | None]) -> None:
    assert bare(url) == expected


def test_nothing_shows_in_a_repr() -> None:
    credentials = Credentials([("https://me:secret@index.example/simple", None)], {"HTTP_PASSWORD": "secret"})
    for one in (credentials, credentials.of("https://index.example/"), Credential("me", "secret")):
        assert "secret" not in repr(one)
        assert "me:" not in repr(one)


def test_credentials_are_given_to_their_origin_only() -> None:
    credentials = Credentials([("https://me:secret@index.example/simple", None)], {})
    mine = Credential("me", "secret")
    assert credentials.of("https://index.example/simple/torch/") == mine
    assert credentials.of("https://INDEX.example:443/files/torch.whl.metadata") == mine
    for other in (
        "http://index.example/simple/torch/",
        "https://index.example:8443/simple/torch/",
        "https://files.example/torch.whl",
        "https://index.example.evil.example/simple/",
        "https://evil.example/https://index.example/simple",
        "https://index.example@evil.example/simple",
        "https://evil.example\\@index.example/",
        "file:///simple",
        "ftp://index.example/simple",
        "https://[::1",
        "https://index.example:99999/",
    ):
        assert credentials.of(other) is None, other
    assert credentials.notes == []


def test_two_indexes_of_one_host_have_their_own() -> None:
    credentials = Credentials(
        [
            ("https://a:1@git.example/projects/1/simple", None),
            ("https://b:2@git.example/projects/2/simple/", None),
            ("https://c:3@git.example/projects/2/simple", None),
            ("https://d:4@git.example/projects", None),
        ],
        {},
    )
    assert credentials.of("https://git.example/projects/2/simple/torch/") == Credential("b", "2")
    assert credentials.of("https://git.example/projects/1/simple") == Credential("a", "1")
    assert credentials.of("https://git.example/projects/1/simpler/torch/") == Credential("d", "4")
    assert credentials.of("https://git.example/files/torch.whl") == Credential("a", "1")


def test_the_variables_of_an_index_stand_before_its_url() -> None:
    environ = {"UV_INDEX_MY_OWN_2_USERNAME": "me", "UV_INDEX_MY_OWN_2_PASSWORD": "secret", "UV_INDEX_B_PASSWORD": "b"}
    urls = [
        ("https://x:y@one.example/s", "my-own.2"),
        ("https://two.example/s", "b"),
        ("https://x:y@three.example", "c"),
    ]
    credentials = Credentials(urls, environ)
    assert credentials.of("https://one.example/s") == Credential("me", "secret")
    assert credentials.of("https://two.example/s") == Credential("", "b")
    assert credentials.of("https://three.example/s") == Credential("x", "y")


NETRC = """\
machine index.example login me password secret
machine other.example login you password hidden
default login anyone password anything
"""


@pytest.mark.parametrize("way", ["NETRC", ".netrc", "_netrc"])
def test_netrc(tmp_path: Path, way: str) -> None:
    file = tmp_path / (way if way != "NETRC" else "elsewhere")
    file.write_text(NETRC, "utf-8")
    environ = {"NETRC": str(file)} if way == "NETRC" else {"HOME": str(tmp_path)}
    credentials = Credentials([("https://index.example/s", None), ("https://me@other.example/s", None)], environ)
    assert credentials.of("https://index.example/s") == Credential("me", "secret")
    assert credentials.of("https://other.example/s") is None  # the URL says who, and that is someone else
    assert credentials.of("https://stranger.example/s") is None
    assert credentials.of("https://default/s") is None
    assert credentials.notes == []


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (
            b"machine index.example login me password secret\nmachine\n",
            r"`{}:\d`: is not a netrc file, so no password was read from it",
        ),
        (b"machine index.example login me secret\n", r"`{}:\d`: is not a netrc file, so no password was read from it"),
        (b"machine index.example \xff\xfe\x81\n", "`{}`: is not text, so no password was read from it"),
        (None, "`{}`: cannot be read: Is a directory"),
    ],
)
def test_a_netrc_that_cannot_be_used_is_said_without_its_content(
    tmp_path: Path, content: bytes | None, note: str
) -> None:
    file = tmp_path / "netrc"
    file.mkdir() if content is None else file.write_bytes(content)
    credentials = Credentials([], {"NETRC": str(file)})
    assert credentials.of("https://index.example/s") is None
    assert credentials.of("https://other.example/s") is None
    (said,) = credentials.notes
    assert re.fullmatch(note.format(re.escape(str(file))), said)
    assert "secret" not in said


def test_without_a_home_there_is_no_netrc() -> None:
    credentials = Credentials([], {})
    assert credentials.of("https://index.example/s") is None
    assert credentials.notes == []


def keyring(folder: Path, body: str) -> dict[str, str]:
    """An environment in which `keyring` is a script; it writes down what it was asked."""
    script = folder / "keyring"
    asked = f"open({str(folder / 'asked')!r}, 'a').write(repr(sys.argv[1:]))"
    script.write_text(f"#!{sys.executable}\nimport sys, time\n{asked}\n{body}\n", "utf-8")
    script.chmod(0o755)
    return {"PATH": str(folder)}


posix = pytest.mark.skipif(os.name == "nt", reason="a script with a shebang")
INDEX = [("https://me@index.example/simple", None)]


@posix
def test_keyring_is_asked_for_the_index_and_then_for_its_host(tmp_path: Path) -> None:
    environ = keyring(tmp_path, "sys.exit(1) if '//' in sys.argv[2] else print('secret')")
    credentials = Credentials(INDEX, environ, keyring=True)
    for _ in range(2):
        assert credentials.of("https://index.example/simple/torch/") == Credential("me", "secret")
    assert credentials.of("https://stranger.example/") is None
    asked = (tmp_path / "asked").read_text("utf-8")
    assert asked == "['get', 'https://index.example/simple', 'me']['get', 'index.example', 'me']"
    assert credentials.notes == []


@posix
def test_keyring_is_not_asked_unless_the_configuration_says_so(tmp_path: Path) -> None:
    environ = keyring(tmp_path, "print('secret')")
    assert Credentials(INDEX, environ).of("https://index.example/") is None
    assert Credentials([("https://index.example/s", None)], environ, keyring=True).of("https://index.example/") is None
    assert not (tmp_path / "asked").exists()


@posix
@pytest.mark.parametrize("body", ["sys.exit(1)", "print()", "sys.exit('no such password')"])
def test_a_keyring_without_an_answer_is_nothing_special(tmp_path: Path, body: str) -> None:
    credentials = Credentials(INDEX, keyring(tmp_path, body), keyring=True)
    assert credentials.of("https://index.example/") is None
    assert credentials.notes == []


@posix
def test_a_keyring_that_hangs_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEYRING_SECONDS", 0.1)
    two = [*INDEX, ("https://me@other.example/", None)]
    credentials = Credentials(two, keyring(tmp_path, "time.sleep(60)"), keyring=True)
    assert credentials.of("https://index.example/") is None
    assert credentials.of("https://other.example/") is None
    assert credentials.notes == ["the command `keyring` did not answer within 0.1 seconds"]


@posix
def test_a_keyring_that_is_no_program(tmp_path: Path) -> None:
    environ = keyring(tmp_path, "")
    (tmp_path / "keyring").write_bytes(b"\x7fELF nonsense")
    credentials = Credentials(INDEX, environ, keyring=True)
    assert credentials.of("https://index.example/") is None
    assert credentials.notes == ["the command `keyring` cannot be run: Exec format error"]


def test_a_keyring_that_is_not_there(tmp_path: Path) -> None:
    credentials = Credentials(INDEX, {"PATH": str(tmp_path)}, keyring=True)
    assert credentials.of("https://index.example/") is None
    assert credentials.notes == ["the command `keyring` is requested by the configuration, but was not found"]
