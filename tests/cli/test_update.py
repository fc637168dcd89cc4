"""``gradcompat update`` against a real server with TLS: each way in which an update may be wrong, once.

The commands of docs/private-knowledge.md that need a server are run here, too.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from filelock import FileLock

from gradcompat import __version__
from gradcompat.audit.verification import measured
from gradcompat.cli import update
from gradcompat.errors import GradcompatError, IndexUnavailable, KnowledgeError, UsageError
from gradcompat.index import transport
from gradcompat.index.limits import Limits
from gradcompat.knowledge import installing
from gradcompat.knowledge.compile import compile_digest, compile_records
from gradcompat.knowledge.envelope import Signature, dumps, public_key
from gradcompat.knowledge.folder import stored_path
from gradcompat.knowledge.load import COMPILED, load
from gradcompat.knowledge.payload import payload_bytes, serial_of
from gradcompat.knowledge.records import read_text
from gradcompat.knowledge.signing import public_of, signed
from gradcompat.knowledge.stored import read_stored
from gradcompat.model.issue import Issue
from gradcompat.model.probe import ProbeSpec
from gradcompat.probes.runner import Interpreter
from tests.conftest import Run
from tests.knowledge.own_records import Reply, TlsServer, own, serving_tls

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
PINNED = str(public_of(KEY))
SHIPPED_SERIAL = serial_of(load().date)
REQUIREMENTS = "acme-trainer==3.1.3\n"


def compiled_shipped() -> dict[str, Any]:
    """What ships, as data; a copy that may be changed."""
    data: dict[str, Any] = json.loads(COMPILED.read_bytes())
    return data


def compiled_own(*changes: tuple[str, str]) -> dict[str, Any]:
    return compile_records(read_text(own(*changes), "acme.yaml"))


def payload(serial: int, **changes: Any) -> bytes:
    now = datetime.now(timezone.utc)
    stated: dict[str, Any] = {
        "serial": serial,
        "published": now,
        "expires": now + timedelta(days=30),
        "minimum": __version__,
        "knowledge": None,
        "own": [("acme.yaml", compiled_own())],
    }
    return payload_bytes(**{**stated, **changes})


def envelope(serial: int, *keys: Ed25519PrivateKey, **changes: Any) -> bytes:
    return signed(payload(serial, **changes), keys or (KEY,))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    with serving_tls(tmp_path_factory.mktemp("tls")) as serving:
        yield serving


@pytest.fixture
def data(tmp_path: Path, server: TlsServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the user's data; this process trusts the server, and loses no time with what fails."""
    folder = tmp_path / "data"
    monkeypatch.setenv("GRADCOMPAT_DATA", str(folder))
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.authority))
    monkeypatch.setattr(update, "LIMITS", Limits(attempts=1, silence=5.0))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    server.pages.clear()
    transport._trusted.cache_clear()  # it has the authorities of another test
    yield folder
    transport._trusted.cache_clear()


def fetch(server: TlsServer, body: bytes | Reply, *keys: str, dry_run: bool = False) -> int:
    server.pages["/acme.signed"] = body if isinstance(body, Reply) else Reply(body)
    return update.run(f"{server.base}/acme.signed", keys or (PINNED,), dry_run=dry_run)


def stored(data: Path) -> int | None:
    """The serial of what is stored."""
    found = read_stored(stored_path(data, None))
    return None if found is None else found.serial


def test_what_is_right_is_installed(
    data: Path, server: TlsServer, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch(server, envelope(7), dry_run=True) == 0
    assert stored(data) is None
    assert capsys.readouterr().out.startswith("1 record of acme.yaml (serial 7) would be installed\n  new: ACME-0001\n")
    assert fetch(server, envelope(7)) == 0
    assert stored(data) == 7
    assert capsys.readouterr().out.startswith("1 record of acme.yaml (serial 7) is installed\n  new: ACME-0001\n")
    done = run("check", "requirements.txt")
    assert done.status == 1
    shipped = load()
    records = f"{len(shipped.records)} records of {shipped.date}"
    assert done.out.splitlines()[-1] == f"1 error ({records} and 1 of acme.yaml fetched today)"
    knowledge = json.loads(run("check", "requirements.txt", "--format", "json").out)["knowledge"]
    assert knowledge["records"] == len(shipped.records) + 1
    assert knowledge["digest"] != shipped.digest
    assert knowledge["updated"] == knowledge["sources"][1]["updated"]
    assert [(one["kind"], one["name"], one["records"]) for one in knowledge["sources"]] == [
        ("shipped", "gradcompat", len(shipped.records)),
        ("private", "acme.yaml", 1),
    ]
    assert run("explain", "ACME-0001").status == 0


def test_records_of_gradcompat_that_are_newer_take_the_place_of_those_that_ship(
    data: Path, server: TlsServer, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = compiled_shipped()
    newer["issues"][0]["summary"] = "Something else"
    newer["issues"] = newer["issues"][:-1]
    newer["by_package"] = {
        name: [one for one in places if one < len(newer["issues"])] for name, places in newer["by_package"].items()
    }
    newer["by_package"] = {name: places for name, places in newer["by_package"].items() if places}
    newer["digest"] = compile_digest(newer["issues"])
    assert fetch(server, envelope(SHIPPED_SERIAL + 1, knowledge=newer, own=[])) == 0
    said = capsys.readouterr().out
    assert f"  changed: {newer['issues'][0]['id']}\n  gone: {compiled_shipped()['issues'][-1]['id']}\n" in said
    assert "Something else" in run("explain", newer["issues"][0]["id"]).out
    assert run("check", "requirements.txt").out.endswith(
        f"({len(newer['issues'])} records of {newer['date']} fetched today)\n"
    )


def tampered(body: bytes) -> bytes:
    """A record says something else; everything but the signature fits."""
    whole = json.loads(body)
    inner = base64.b64decode(whole["payload"]).replace(b">=3.0.0,<3.1.4", b">=9.0.0,<9.1.4")
    return json.dumps({**whole, "payload": base64.b64encode(inner).decode()}).encode()


def without_signatures(body: bytes) -> bytes:
    return json.dumps({**json.loads(body), "signatures": []}).encode()


def signature_of_the_bare_payload(serial: int) -> bytes:
    inner = payload(serial)
    return dumps(inner, [Signature(public_of(KEY).id, KEY.sign(inner))])


def with_payload(**changes: Any) -> bytes:
    return signed(json.dumps({**json.loads(payload(9)), **changes}).encode(), [KEY])


def unknown_term() -> dict[str, Any]:
    compiled = compiled_own()
    compiled["issues"][0]["affected"][0].append(["phase_of_the_moon", "full"])
    compiled["digest"] = compile_digest(compiled["issues"])
    return compiled


NOW = datetime.now(timezone.utc)

REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "tampered": (lambda: tampered(envelope(9)), "was changed after it was signed"),
    "unsigned": (lambda: without_signatures(envelope(9)), "is not signed"),
    "signed by somebody else": (lambda: envelope(9, OTHER), "is not signed by a key that is pinned here"),
    "a signature of something else": (lambda: signature_of_the_bare_payload(9), "was changed after it was signed"),
    "a signature that is none": (
        lambda: dumps(payload(9), [Signature(public_of(KEY).id, b"1234")]),
        "has a signature that is none of Ed25519",
    ),
    "half of it": (lambda: envelope(9)[:-100], "is no signed knowledge, or only a part of it: it is not JSON"),
    "a page of a portal": (lambda: b"<!DOCTYPE html><title>Log in</title>", "is no signed knowledge, or only a part"),
    "nothing": (lambda: b"", "is no signed knowledge, or only a part of it: it is not JSON"),
    "expired": (
        lambda: envelope(9, published=NOW - timedelta(days=9), expires=NOW - timedelta(seconds=1)),
        "has expired: its publisher stood for it until",
    ),
    "of a day to come": (
        lambda: envelope(9, published=NOW + timedelta(days=3), expires=NOW + timedelta(days=9)),
        "was published at",
    ),
    "replayed": (lambda: envelope(7), "is older (serial 7) than what was fetched before (serial 8)"),
    "the same serial for other records": (
        lambda: envelope(8, own=[("acme.yaml", compiled_own(("level: error", "level: warning")))]),
        "is something else than what was fetched before under the same serial, 8",
    ),
    "older than what ships": (
        lambda: envelope(SHIPPED_SERIAL - 1, knowledge=compiled_shipped()),
        f"is older (serial {SHIPPED_SERIAL - 1}) than the knowledge of {load().date} that ships with gradcompat",
    ),
    "a format to come": (lambda: with_payload(format=2), "is of a format that this gradcompat does not know"),
    "for a newer gradcompat": (lambda: envelope(9, minimum="99.0"), "needs gradcompat 99.0 or later; this is "),
    "without a serial": (lambda: with_payload(serial="9"), "holds a payload whose serial is no number"),
    "a serial after which none comes": (lambda: envelope(10**15), "holds a payload whose serial is no number"),
    "a payload without records": (lambda: envelope(9, own=[]), "holds a payload without any records"),
    "a term to come": (lambda: envelope(9, own=[("acme.yaml", unknown_term())]), "is not what gradcompat compiles"),
    "own records among those of gradcompat": (
        lambda: envelope(SHIPPED_SERIAL + 1, knowledge=compiled_own()),
        "has ACME-0001 among the records of gradcompat",
    ),
    "an id of gradcompat's among own records": (
        lambda: envelope(9, own=[("acme.yaml", compiled_own(("ACME-0001", "GC-0001")))]),
        "GC-0001: ids with GC- are those of gradcompat",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_the_old_knowledge(data: Path, server: TlsServer, case: str) -> None:
    fetch(server, envelope(8))
    before = stored_path(data, None).read_bytes()
    body, message = REFUSED[case]
    with pytest.raises(KnowledgeError) as caught:
        fetch(server, body())
    assert message in caught.value.message
    assert "\n" not in str(caught.value)
    assert stored_path(data, None).read_bytes() == before


def test_the_payload_is_not_read_before_its_signature(
    data: Path, server: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "read_payload", lambda *_: pytest.fail("it was read"))
    with pytest.raises(KnowledgeError, match="is not signed by a key that is pinned here"):
        fetch(server, signed(b"[[[[", [OTHER]))


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(b"x" * 30_000), "is larger than"),
        (Reply(gzip.compress(bytes(10_000_000)), headers={"Content-Encoding": "gzip"}), "is larger than"),
        (Reply(b"x" * 9_000, sent=100), "broke the connection off"),
        (Reply(status=404), "answered 404 Not Found"),
        (Reply(status=302, headers={"Location": "http://127.0.0.1/acme.signed"}), "redirects from https to http"),
        (Reply(status=302, headers={"Location": "file:///etc/passwd"}), "redirects to what is no http address"),
        (Reply(status=302, headers={"Location": "/acme.signed"}), "redirects more than 5 times"),
    ],
)
def test_what_cannot_be_fetched_leaves_the_old_knowledge(
    data: Path, server: TlsServer, monkeypatch: pytest.MonkeyPatch, reply: Reply, message: str
) -> None:
    fetch(server, envelope(8))
    monkeypatch.setattr(update, "MAX_BYTES", 20_000)
    with pytest.raises(IndexUnavailable) as caught:
        fetch(server, reply)
    assert message in caught.value.message
    assert stored(data) == 8


def test_a_certificate_that_nobody_trusts(data: Path, server: TlsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    transport._trusted.cache_clear()
    with pytest.raises(IndexUnavailable, match="cannot be reached"):
        fetch(server, envelope(8))
    assert stored(data) is None


def test_a_refusal_is_one_line_and_status_2(data: Path, server: TlsServer, run: Run) -> None:
    server.pages["/acme.signed"] = Reply(tampered(envelope(9)))
    done = run("update", "--url", f"{server.base}/acme.signed", "--key", PINNED)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"error: `{server.base}/acme.signed`: was changed after it was signed: the signature of the pinned key is not "
        "right\n"
    )


def test_the_same_again_is_no_news(data: Path, server: TlsServer, capsys: pytest.CaptureFixture[str]) -> None:
    body = envelope(8)
    fetch(server, body)
    capsys.readouterr()
    assert fetch(server, body) == 0
    assert capsys.readouterr().out.startswith("1 record of acme.yaml (serial 8) is here already\n")


def test_keys_are_changed_with_a_file_that_both_have_signed(data: Path, server: TlsServer) -> None:
    fetch(server, envelope(1))
    fetch(server, envelope(2, KEY, OTHER))
    fetch(server, envelope(3, KEY, OTHER), str(public_of(OTHER)))
    fetch(server, envelope(4, OTHER), PINNED, str(public_of(OTHER)))
    assert stored(data) == 4
    # What only a key has signed that is pinned no more says nothing about what is newer.
    fetch(server, envelope(3))
    assert stored(data) == 3


def test_a_broken_file_is_said_and_replaced(
    data: Path, server: TlsServer, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch(server, envelope(8))
    path = stored_path(data, None)
    path.write_bytes(path.read_bytes().replace(b">=3.0.0,<3.1.4", b">=9.0.0,<9.1.4"))
    done = run("check", "requirements.txt")
    assert done.status == 0
    shipped = f"the knowledge of {load().date} that ships with gradcompat serves"
    assert done.err == f"note: `{path}`: is broken; {shipped}\n"
    fetch(server, envelope(8))
    assert "is broken: it does not count any more" in capsys.readouterr().err
    assert run("check", "requirements.txt").status == 1


def test_a_file_of_a_newer_gradcompat_is_said(
    data: Path, server: TlsServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradcompat.knowledge.payload.__version__", "99.0")
    fetch(server, envelope(8, minimum="99.0"))
    done = run("check", "requirements.txt")
    assert done.status == 0
    assert f"needs gradcompat 99.0 or later; this is {__version__}; the knowledge of" in done.err


def test_what_has_expired_since_is_said(
    data: Path, server: TlsServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "check_times", lambda *_: None)
    fetch(server, envelope(8, published=NOW - timedelta(days=9), expires=NOW - timedelta(days=2)))
    done = run("check", "requirements.txt")
    assert done.status == 1
    assert ": run `gradcompat update`\n" in done.err


def test_a_project_has_knowledge_of_its_own(data: Path, server: TlsServer, run: Run, tmp_path: Path) -> None:
    server.pages["/acme.signed"] = Reply(envelope(8))
    project = tmp_path / "project" / "inside"
    project.mkdir(parents=True)
    (project.parent / "key.pem").write_bytes(
        KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    config = f'[tool.gradcompat.update]\nurl = "{server.base}/acme.signed"\nkey = "key.pem"\n'
    (project.parent / "pyproject.toml").write_text(config, "utf-8")
    (project / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    assert run("update", cwd=project).status == 0
    assert run("check", "requirements.txt", cwd=project).status == 1
    assert stored(data) is None  # nobody else's
    assert run("check", "requirements.txt", cwd=tmp_path).status == 0
    # A key that is taken out of the file takes what it has signed with it.
    config = config.replace('"key.pem"', f'["{public_of(OTHER)}"]')
    (project.parent / "pyproject.toml").write_text(config, "utf-8")
    done = run("check", "requirements.txt", cwd=project)
    assert done.status == 0
    assert "is signed by a key that is no longer pinned; the knowledge of" in done.err


@pytest.mark.parametrize(
    ("url", "keys", "env", "message"),
    [
        (None, [], {}, "it is not said where newer knowledge is"),
        ("https://a.example/k", [], {}, "the key is missing"),
        (None, [PINNED], {}, "the URL is missing"),
        (None, [], {"GRADCOMPAT_UPDATE_URL": "https://a.example/k"}, "the key is missing"),
        ("http://a.example/k", [PINNED], {}, "knowledge is fetched over https alone"),
        ("acme.signed", [PINNED], {}, "knowledge is fetched over https alone"),
        ("https://a.example/k", ["ed25519:AAAA"], {}, "the key is not `ed25519:` and 32 bytes in base64"),
        ("https://a.example/k", ["nowhere.pem"], {}, "cannot be read as a key: No such file or directory"),
    ],
)
def test_what_is_not_said_or_makes_no_sense(
    tmp_path: Path, url: str | None, keys: list[str], env: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        update.channel_of(url, keys, env, {})
    assert caught.value.message == message


def test_options_count_more_than_variables_and_these_more_than_the_project() -> None:
    kept = {"update": {"url": "https://project.example/k", "key": [str(public_of(OTHER))]}}
    env = {"GRADCOMPAT_UPDATE_URL": "https://env.example/k", "GRADCOMPAT_UPDATE_KEY": f"{PINNED} {public_of(OTHER)}"}
    assert update.channel_of("https://option.example/k", [PINNED], env, kept).url == "https://option.example/k"
    channel = update.channel_of(None, [], env, kept)
    assert (channel.url, len(channel.keys), channel.project) == ("https://env.example/k", 2, False)
    channel = update.channel_of(None, [], {}, kept)
    assert (channel.url, len(channel.keys), channel.project) == ("https://project.example/k", 1, True)
    # A URL of one and a key of the other were never meant for one another.
    with pytest.raises(UsageError, match="the key is missing"):
        update.channel_of("https://option.example/k", [], {}, kept)


def test_another_process_that_was_quicker_with_something_newer(
    data: Path, server: TlsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is looked at under the lock, and not before."""
    fetch(server, envelope(9))
    newer = stored_path(data, None).read_bytes()
    stored_path(data, None).unlink()
    real = FileLock

    def quicker(*arguments: Any, **options: Any) -> Any:
        stored_path(data, None).write_bytes(newer)
        return real(*arguments, **options)

    monkeypatch.setattr(installing, "FileLock", quicker)
    with pytest.raises(KnowledgeError, match="is older"):
        fetch(server, envelope(8))
    assert stored(data) == 9


def test_four_processes_at_once(data: Path, server: TlsServer) -> None:
    for serial in range(1, 5):
        server.pages[f"/{serial}"] = Reply(envelope(serial))
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "gradcompat", "update", "--url", f"{server.base}/{serial}", "--key", PINNED],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for serial in range(1, 5)
    ]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "") or (process.returncode == 2 and "is older" in err), err
    assert processes[-1].returncode == 0
    assert stored(data) == 4


KILLED = """\
import os, signal, sys
from gradcompat.knowledge import installing

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

{patched} = die
from gradcompat.cli.update import run
run({url!r}, [{key!r}], dry_run=False)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
@pytest.mark.parametrize("patched", ["installing.os.replace", "installing.os.fsync"])
def test_killed_between_writing_and_renaming(data: Path, server: TlsServer, patched: str) -> None:
    fetch(server, envelope(8))
    server.pages["/acme.signed"] = Reply(envelope(9))
    script = KILLED.format(patched=patched, url=f"{server.base}/acme.signed", key=PINNED)
    done = subprocess.run([sys.executable, "-c", script], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert stored(data) == 8
    # Nobody holds the lock any more, and what it left behind is in nobody's way.
    fetch(server, envelope(9))
    assert stored(data) == 9


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of files")
def test_a_disk_that_is_full(data: Path, server: TlsServer) -> None:
    import resource

    fetch(server, envelope(8))
    server.pages["/acme.signed"] = Reply(envelope(9))
    done = subprocess.run(
        [sys.executable, "-m", "gradcompat", "update", "--url", f"{server.base}/acme.signed", "--key", PINNED],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].endswith(": cannot be written: File too large")
    assert stored(data) == 8
    assert [path.name for path in (data / "knowledge").iterdir() if path.suffix == ".tmp"] == []


def test_a_folder_that_cannot_be_written(data: Path, server: TlsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    data.write_text("a file", "utf-8")
    with pytest.raises(UsageError) as caught:
        fetch(server, envelope(8))
    assert caught.value.message.startswith("cannot be written: ")
    assert caught.value.hint == "what was there before is still there; GRADCOMPAT_DATA names another folder"


def test_without_the_network_the_shipped_knowledge_serves(data: Path, run: Run) -> None:
    done = run("update", "--url", "https://127.0.0.1:1/acme.signed", "--key", PINNED)
    assert done.status == 2
    assert "cannot be reached" in done.err
    assert run("check", "requirements.txt").status == 0


def test_a_recipe_to_come_is_skipped_with_its_reason(data: Path, server: TlsServer, run: Run) -> None:
    compiled = compiled_own()
    compiled["issues"][0]["probes"] = [["measure_the_moon", {}, []]]
    compiled["digest"] = compile_digest(compiled["issues"])
    fetch(server, envelope(8, own=[("acme.yaml", compiled)]))
    done = run("probe", "ACME-0001", "--python", sys.executable)
    assert done.status == 3
    assert "there is no recipe `measure_the_moon` in this gradcompat: recipes come with a newer one" in " ".join(
        done.out.split()
    )
    assert run("explain", "ACME-0001").status == 0


def test_what_this_gradcompat_can_measure_is_measured_beside_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "gradcompat.audit.verification.run_jobs", lambda jobs, *_: pytest.fail("nothing is to run") if jobs else ()
    )
    issue = next(iter(load().in_force()))
    assert isinstance(issue, Issue)
    (result,) = measured(
        {"moon": (ProbeSpec(name="moon"), [issue])}, Interpreter(path=Path(sys.executable)), device="cpu"
    )
    assert (result.outcome, result.issues) == ("skipped", (issue.id,))


def test_the_publishing_side(data: Path, server: TlsServer, run: Run, tmp_path: Path) -> None:
    (tmp_path / "acme.yaml").write_text(own(), "utf-8")
    made = run("knowledge", "key", "--new", "private.pem")
    assert made.status == 0
    if os.name == "posix":
        assert (tmp_path / "private.pem").stat().st_mode & 0o777 == 0o600
    key = made.out.strip()
    assert public_key(key).raw
    assert run("knowledge", "key", "private.pem").out == made.out
    assert run("knowledge", "key", "--new", "private.pem").status == 2  # the old one is still there
    assert run("knowledge", "key", "private.pem").out == made.out
    sign = ("knowledge", "sign", "--key", "private.pem", "--output", "acme.signed")
    done = run(*sign, "--knowledge", "acme.yaml", "--serial", str(SHIPPED_SERIAL + 5))
    assert done.out.startswith(f"{len(load().records) + 1} records written to acme.signed: serial {SHIPPED_SERIAL + 5}")
    assert fetch(server, (tmp_path / "acme.signed").read_bytes(), key) == 0
    assert run("check", "requirements.txt").status == 1
    assert run(*sign, "--serial", str(SHIPPED_SERIAL - 1)).status == 2
    assert run(*sign, "--own-only").status == 2
    assert run(*sign, "--minimum", "new").status == 2
    (tmp_path / "acme.yaml").write_text(own(("level: error", "level: grave")), "utf-8")
    before = (tmp_path / "acme.signed").read_bytes()
    assert run(*sign, "--knowledge", "acme.yaml").status == 2
    assert (tmp_path / "acme.signed").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no private key in PEM"),
        (
            generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            "is no Ed25519 key",
        ),
        (KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), "is no private key in PEM"),
    ],
)
def test_keys_that_cannot_sign(tmp_path: Path, content: bytes, message: str) -> None:
    from gradcompat.knowledge.signing import private_key

    (tmp_path / "key.pem").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        private_key(tmp_path / "key.pem")
    assert caught.value.message == message
    assert issubclass(UsageError, GradcompatError)
