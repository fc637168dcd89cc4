"""A project is read and never obeyed: no file of it makes a command connect, or read outside of its folder."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.knowledge.own_records import own


@dataclass
class Listener:
    """A server that must hear nothing: ``met`` has who connected."""

    port: int
    met: list[object] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@pytest.fixture
def listener() -> Iterator[Listener]:
    server = socket.create_server(("127.0.0.1", 0))
    listening = Listener(server.getsockname()[1])

    def accept() -> None:
        while True:
            try:
                connection, address = server.accept()
            except OSError:
                return
            listening.met.append(address)
            connection.close()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("acme-trainer==3.1.3\n", "utf-8")
    (tmp_path / "outside.yaml").write_text(own(), "utf-8")
    return folder


def names(folder: Path, *records: str) -> None:
    listed = ", ".join(f'"{one}"' for one in records)
    (folder / "gradcompat.toml").write_text(f"knowledge = [{listed}]\n", "utf-8")


@pytest.mark.parametrize("scheme", ["https", "http", "file"])
def test_a_project_has_no_address_fetched(here: Path, run: Run, listener: Listener, scheme: str) -> None:
    names(here, f"{scheme}://{listener.address}/acme.yaml")
    done = run("check", "requirements.txt", cwd=here)
    assert listener.met == []
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: `gradcompat.toml:1`: `knowledge` names an address\n\nhint: ")


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("../outside.yaml", "lies outside of the folder of this file"),
        ("/etc/passwd", "lies outside of the folder of this file"),
        ("linked.yaml", "lies outside of the folder of this file"),
        ("folder/linked.yaml", "lies outside of the folder of this file"),
        ("pipe", "is neither a file nor a folder"),
        ("-", "is not there"),
        ("/dev/stdin", "lies outside of the folder of this file"),
        ("", "is no path"),
    ],
)
def test_a_project_has_nothing_read_outside_of_it(here: Path, run: Run, place: str, wrong: str) -> None:
    (here / "linked.yaml").symlink_to(here.parent / "outside.yaml")
    (here / "folder").symlink_to(here.parent)
    (here.parent / "linked.yaml").write_text(own(), "utf-8")
    os.mkfifo(here / "pipe")
    names(here, place)
    done = run("check", "requirements.txt", cwd=here, stdin=own())
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: `gradcompat.toml:1`: `knowledge` names `{place}`, which {wrong}\n\nhint: ")


def test_a_folder_leads_nowhere_else(here: Path, run: Run) -> None:
    (here / "records" / "measured").mkdir(parents=True)
    (here / "records" / "linked.yaml").symlink_to(here.parent / "outside.yaml")
    names(here, "records")
    done = run("check", "requirements.txt", cwd=here)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: `records/linked.yaml`: lies outside of the folder of this file\n")
    (here / "records" / "linked.yaml").unlink()
    (here / "records" / "acme.yaml").write_text(own(), "utf-8")
    os.mkfifo(here / "records" / "measured" / "torch.jsonl")
    done = run("check", "requirements.txt", cwd=here)
    assert done.status == 2
    assert "torch.jsonl`: is neither a file nor a folder\n" in done.err


def test_the_user_may_name_anything(here: Path, run: Run) -> None:
    done = run("check", "requirements.txt", "--knowledge", "../outside.yaml", cwd=here)
    assert "ACME-0001" in done.out


@pytest.mark.parametrize("place", ["../proof.json", "/dev/stdin", "pipe", "linked.json"])
def test_a_proof_lies_in_the_project(here: Path, run: Run, place: str) -> None:
    os.mkfifo(here / "pipe")
    (here.parent / "proof.json").write_text("{}", "utf-8")
    (here / "linked.json").symlink_to(here.parent / "proof.json")
    (here / "gradcompat.toml").write_text(
        f'[[waivers]]\nid = "GC-0004"\nreason = "measured"\nproof = "{place}"\n', "utf-8"
    )
    done = run("check", "requirements.txt", cwd=here)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: `gradcompat.toml:4`: `proof` of a waiver names `{place}`, which ")
