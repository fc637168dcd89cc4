"""Indexes that do not answer, lie or are slow: the finding and a plan are shown, and what could not be verified."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gradcompat.errors import UsageError
from tests.cli.indexed import LINUX, RELEASES, invoke, serve, wheel_name
from tests.index.serving import Reply, Server, metadata, serving

SECRET = "hunter2-is-secret"  # noqa: S105  # what must never be printed
METADATA = f"/files/{wheel_name('transformers', '4.52.1')}.metadata"


def with_secret(base: str) -> str:
    return f"{base.replace('//', f'//me:{SECRET}@')}/simple"


def planned(url: str, *arguments: str) -> tuple[dict[str, Any], int, str]:
    """The plan, the status, and what was said; the password is nowhere in it."""
    result = invoke(
        "plan", "requirements.txt", "--context", "train.yaml", "--index-url", url, "--format", "json", *arguments
    )
    assert SECRET not in result.stdout + result.stderr
    loaded = json.loads(result.stdout)
    assert isinstance(loaded, dict)
    return loaded, result.exit_code, result.stderr


def moves(plan: Mapping[str, Any]) -> list[str]:
    return [f"{one['package']} {one['version_from']} {one['version_to']}" for one in plan["changes"]]


UP = ["transformers 4.49.0 4.52.1"]
# What is said of every list that a person wrote; nothing else is unverified where all went well.
WELL = ["only what is listed was checked: packages that come along with it are not known"]


def test_an_index_that_answers(trained: Path, server: Server) -> None:
    serve(server)
    plan, status, said = planned(with_secret(server.base))
    assert (moves(plan), status, said) == (UP, 3, "")
    assert plan["verified"]["unverified"] == WELL
    assert plan["verified"]["requirements"] is True
    assert all("authorization" in asked.headers for asked in server.asked)


def test_a_release_that_was_withdrawn_is_not_advised_where_no_index_says_so(trained: Path, server: Server) -> None:
    server.pages["/simple/transformers/"] = Reply(500)
    plan, status, _ = planned(f"{server.base}/simple")
    (moved,) = moves(plan)
    assert (moved, status) == ("transformers 4.49.0 4.52.4", 3)  # 4.52.0 ends the range, and was withdrawn


def test_asking_again_asks_nobody(trained: Path, server: Server) -> None:
    serve(server)
    planned(with_secret(server.base))
    before = len(server.asked)
    assert moves(planned(with_secret(server.base))[0]) == UP
    assert len(server.asked) == before


@pytest.mark.e2e
def test_several_processes_at_once_share_a_cache(trained: Path, server: Server) -> None:
    serve(server)
    command = [
        sys.executable, "-m", "gradcompat", "plan", "requirements.txt", "--context", "train.yaml", "--format", "json",
        "--index-url", f"{server.base}/simple", *LINUX,
    ]  # fmt: skip
    for _ in range(2):  # first into an empty cache, and then out of it
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
        ended = [(*process.communicate(timeout=120), process.returncode) for process in running]
        assert {(errors, status) for _, errors, status in ended} == {(b"", 3)}
        (plan,) = {output for output, _, _ in ended}
        assert moves(json.loads(plan)) == UP
    assert not [path for path in (trained / "cache").rglob("*") if path.name.startswith((".", "tmp"))]


def broken(server: Server, *replies: Reply) -> None:
    for name in RELEASES:
        server.pages[f"/simple/{name}/"] = list(replies)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(500), "500"),
        (Reply(429, headers={"Retry-After": "3600"}), "429"),
        (Reply(404), "has no releases of transformers"),
        (Reply(200, b"<html><a href='x", headers={"Content-Type": "text/html"}), "cut off"),
        (Reply(200, b"{}", headers={"Content-Type": "application/vnd.pypi.simple.v1+json"}), "not a list of files"),
        (Reply(200, b"<html></html>", headers={"Content-Type": "text/html"}, length=9999), ""),
        (Reply(-1), ""),
        (Reply(302, headers={"Location": "file:///etc/passwd"}), ""),
    ],
)
def test_an_index_that_is_no_help(trained: Path, server: Server, reply: Reply, reason: str) -> None:
    broken(server, reply)
    plan, status, _ = planned(with_secret(server.base))
    assert status == 3
    assert set(plan["verified"]["unverified"]) - set(WELL)
    assert reason in " ".join(plan["verified"]["unverified"])
    # What the records name is planned nevertheless; nothing of it is said to fit.
    assert plan["fixed"] == ["GC-0004", "GC-0005"]
    assert plan["verified"]["requirements"] is not True or not plan["changes"]


def test_an_index_that_is_not_there(trained: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    plan, status, _ = planned(with_secret(f"http://127.0.0.1:{port}"))
    assert (plan["fixed"], status) == (["GC-0004", "GC-0005"], 3)
    assert f"http://127.0.0.1:{port}/simple" in " ".join(plan["verified"]["unverified"])


def lying_metadata(server: Server) -> None:
    server.pages[METADATA] = Reply(body=metadata("transformers", "4.52.1", "tokenizers<0.22"))


def cut_off_metadata(server: Server) -> None:
    server.pages[METADATA] = Reply(body=metadata("transformers", "4.52.1")[:30], length=500)


def no_metadata(server: Server) -> None:
    server.pages[METADATA] = Reply(404)


@pytest.mark.parametrize("spoil", [lying_metadata, cut_off_metadata, no_metadata])
def test_metadata_that_cannot_be_believed(trained: Path, server: Server, spoil: Callable[[Server], None]) -> None:
    serve(server)
    spoil(server)
    plan, status, _ = planned(with_secret(server.base))
    # The neighbour whose requirements are seen is taken instead.
    assert moves(plan) == ["transformers 4.49.0 4.48.3"]
    assert status in (1, 3)
    assert plan["verified"]["requirements"] is True


def test_invalid_requires_dist(trained: Path, server: Server) -> None:
    releases = {**RELEASES, "transformers": {**RELEASES["transformers"], "4.52.1": ("tokenizers (>=0.21)", "a b c ??")}}
    serve(server, releases)
    plan, status, _ = planned(with_secret(server.base))
    assert (moves(plan), status) == (UP, 3)
    assert "a b c ??" in " ".join(plan["verified"]["unverified"])


def test_a_redirect_takes_no_password_to_another_host(trained: Path, server: Server) -> None:
    with serving() as other:
        serve(other)
        for name in RELEASES:
            # Another name of this machine is another host.
            elsewhere = f"{other.base.replace('127.0.0.1', 'localhost')}/simple/{name}/"
            server.pages[f"/simple/{name}/"] = Reply(302, headers={"Location": elsewhere})
        plan, status, _ = planned(with_secret(server.base))
        assert (moves(plan), status) == (UP, 3)
        assert plan["verified"]["unverified"] == WELL
        assert other.asked
        assert not any("authorization" in asked.headers for asked in other.asked)
    assert all("authorization" in asked.headers for asked in server.asked)


def test_a_cache_that_cannot_be_written(trained: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server)
    (trained / "taken").write_text("", "utf-8")
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(trained / "taken"))
    plan, status, said = planned(with_secret(server.base))
    assert (moves(plan), status) == (UP, 3)
    assert plan["verified"]["unverified"] == WELL
    assert "what the index answers cannot be kept" in said


def test_a_full_disk(trained: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("gradcompat.index.cache.tempfile.mkstemp", full)
    plan, status, said = planned(with_secret(server.base))
    assert (moves(plan), status) == (UP, 3)
    assert plan["verified"]["unverified"] == WELL
    assert os.strerror(errno.ENOSPC) in said


def test_a_url_that_is_none(trained: Path) -> None:
    for url in ("http://[", "nonsense", f"http://me:{SECRET}@:99999/simple", "ftp://index.example/simple"):
        result = invoke_anyway(url)
        assert SECRET not in result


def invoke_anyway(url: str) -> str:
    from typer.testing import CliRunner

    from gradcompat.cli.app import app
    from gradcompat.errors import GradcompatError

    result = CliRunner().invoke(
        app, ["plan", "requirements.txt", "--context", "train.yaml", "--index-url", url, "--set", "host.python=3.11"]
    )
    assert isinstance(result.exception, (SystemExit, GradcompatError)), result.exception
    return result.stdout + result.stderr + str(result.exception)


@pytest.mark.parametrize(
    "requirements",
    [
        "transformers\ntokenizers\n",
        "transformers>=4.49,<4.50\n",
        "-e .\ntransformers @ git+https://git.example/transformers@0123abc\ntransformers==4.49.0\n",
        "../../etc/passwd==1.0\ntransformers==4.49.0\n",
        "transformers===4.49.0-odd\n",
        "",
    ],
)
def test_odd_entries_lead_to_an_answer(trained: Path, server: Server, requirements: str) -> None:
    serve(server)
    (trained / "requirements.txt").write_text(requirements, "utf-8")
    result = invoke("plan", "requirements.txt", "--context", "train.yaml", "--index-url", with_secret(server.base))
    assert result.exit_code in (0, 1, 2, 3)
    assert SECRET not in result.stdout + result.stderr
    assert not any(".." in path for path in server.paths)


@pytest.mark.parametrize("wanted", ["no@name!!", "transformers==4.49.0", "../../etc", "peft,,-"])
def test_a_name_that_is_none_is_refused_before_anybody_is_asked(trained: Path, server: Server, wanted: str) -> None:
    with pytest.raises(UsageError, match="is not a package name"):
        invoke("constraints", "--for", wanted, "--index-url", f"{server.base}/simple")
    assert server.asked == []


def test_constraints_for_nothing_are_refused(trained: Path) -> None:
    with pytest.raises(UsageError, match="names no package"):
        invoke("constraints", "--for", ",", "--offline")
