"""Many files by all processors: the same report in every run, whatever happens to a process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from gradcompat.audit import auditor as auditing
from gradcompat.audit.auditor import Task, audit_each
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.targets import File
from gradcompat.audit.worker_pool import map_in_processes
from gradcompat.errors import Malformed
from gradcompat.knowledge.load import load
from tests.audit.working import doubled, lost, nothing, refusing
from tests.cli.test_diff import CONFIG, HEAD, LOCK, lock
from tests.conftest import ROOT, Run

pytestmark = pytest.mark.e2e

posix = pytest.mark.skipif(os.name == "nt", reason="signals and limits of POSIX")


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes find the tests, which are not in their current folder."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(tmp_path)


@posix
@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize("fatal", [(), (0,), (199,), (7, 8, 150)])
@pytest.mark.parametrize("processors", [1, 2, 5])
def test_a_process_that_dies_takes_one_task_with_it(fatal: tuple[int, ...], processors: int) -> None:
    work = partial(doubled, frozenset(fatal))
    results = map_in_processes(work, range(200), lost, processors=processors, prepare=nothing, arguments=())
    assert results == [f"{'lost' if task in fatal else 'done'} {task}" for task in range(200)]


@pytest.mark.usefixtures("importable")
def test_an_error_is_no_death() -> None:
    with pytest.raises(Malformed, match="is empty"):
        map_in_processes(refusing, range(20), lost, processors=2, prepare=nothing, arguments=())


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Forty environments of several kinds in nested folders."""
    chance = random.Random(7)  # noqa: S311  # the same in every run, and no secret
    for number in range(40):
        folder = tmp_path / "many" / f"team-{number % 3}" / f"service-{number:02}"
        folder.mkdir(parents=True)
        versions = {"numpy": "2.0.0"} if number % 8 else {"transformers": "4.49.0", "torch": "2.5.1"}
        versions |= {f"package-{chance.randrange(10**6)}": "1.0" for _ in range(chance.randrange(30))}
        (folder / "uv.lock").write_text(lock(**versions))
        if number % 16 == 0:
            (folder / "train.yaml").write_text(CONFIG.format(steps=8))
    (tmp_path / "many" / "team-1" / "service-10" / "uv.lock").write_text(HEAD + "[[package]\n")
    (tmp_path / "many" / "team-2" / "service-20" / "uv.lock").write_bytes(b"\0" * 100)
    return tmp_path / "many"


def test_the_order_is_that_of_one_process(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [Task(File(path, path.relative_to(many).as_posix())) for path in sorted(many.rglob("uv.lock"))]
    base = load()
    reports = []
    for processors in (1, 2, 3, 7):
        monkeypatch.setattr(auditing, "_processors", lambda processors=processors: processors)
        monkeypatch.setattr(auditing, "_BYTES_FOR_A_PROCESS", 1)
        reports.append(audit_each(tasks, base, AuditOptions()))
    assert reports[0] == reports[1] == reports[2] == reports[3]
    assert [audit.source for audit in reports[0]] == [
        task.source.shown for task in tasks if isinstance(task.source, File)
    ]
    assert sum(audit.kind is None for audit in reports[0]) == 2


def test_one_summary(many: Path, run_process: Run) -> None:
    """Of many environments those are shown that have something to say, and the rest is a line."""
    first, second = run_process("check", ".", cwd=many), run_process("check", ".", cwd=many)
    assert first == second
    assert first.status == 1
    assert len([line for line in first.out.split("\n") if "/uv.lock: uv.lock, " in line]) == 3
    assert "no defect is sure in 35 environments: team-0/service-03/uv.lock, " in first.out
    assert " and 32 more\n" in first.out
    # Every gap is told, whatever their number.
    assert "team-1/service-10/uv.lock:3: " in first.out
    assert "team-2/service-20/uv.lock: is binary, not text" in first.out
    *_, last = first.out.rstrip("\n").split("\n")
    assert last.startswith("3 errors, ")
    assert ", 2 not checked, in 40 environments (" in last
    assert len(json.loads(run_process("check", ".", "--format", "json", cwd=many).out)["environments"]) == 40


@posix
@pytest.mark.parametrize(
    ("files", "reasons"),
    [
        (8, {"needs more memory than is available"}),
        # One of several processes may not even have what it takes to say so.
        (16, {"needs more memory than is available", "the process that read it was killed"}),
    ],
)
def test_a_file_that_needs_more_memory_than_there_is(tmp_path: Path, files: int, reasons: set[str]) -> None:
    for number in range(files):
        (tmp_path / f"p{number:02}").mkdir()
        (tmp_path / f"p{number:02}" / "uv.lock").write_text(LOCK)
    (tmp_path / "p07" / "uv.lock").write_text(HEAD + LOCK.removeprefix(HEAD) * 300_000)
    limited = (
        "import resource, runpy, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (320 * 2**20, 320 * 2**20))\n"
        "sys.argv = ['gradcompat', 'check', '.', '--format', 'json']\n"
        "runpy.run_module('gradcompat', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", limited], cwd=tmp_path, capture_output=True, check=False)
    assert done.stderr == b""
    data = json.loads(done.stdout)
    unread = {one["source"]: one["skipped"][0]["reason"] for one in data["environments"] if one["kind"] is None}
    assert list(unread) == ["p07/uv.lock"]
    assert unread["p07/uv.lock"] in reasons
    assert len(data["environments"]) == files
    assert done.returncode == 3


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_is_stopped_leaves_no_process_behind(many: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Also if the signal reaches the first process alone, as from a CI runner that gives up."""
    held = many / "team-0" / "zzz"
    held.mkdir()
    (held / "uv.lock").write_text(HEAD + LOCK.removeprefix(HEAD) * 20_000)
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcompat", "check", str(many)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(write,),
    )
    os.close(write)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60
    while not (children.exists() and children.read_text()):
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.skip("it was done too soon, or this system does not tell children")
        os.sched_yield()
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert err == b""
    assert process.returncode == -number
    # The other end of the pipe is closed when the last process that has inherited it is gone.
    os.set_blocking(read, True)
    assert os.read(read, 1) == b""
    os.close(read)
