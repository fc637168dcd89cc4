"""Whatever goes wrong: one line, and an exit status that says so; 1 stands for findings alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradcompat.cli import command_end
from gradcompat.errors import UsageError
from gradcompat.files.root import root_of_folder
from gradcompat.scanners.code.local_modules import Project
from tests.cli.test_diff import LOCK
from tests.conftest import Run

LONG = "m" * 300
posix = pytest.mark.skipif(os.name == "nt", reason="files and signals of POSIX")
PROGRAM = [sys.executable, "-m", "gradcompat"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "uv.lock").write_text(LOCK, "utf-8")
    return folder


def test_a_module_name_that_no_file_can_have(run: Run, project: Path) -> None:
    (project / "train.py").write_text(f"import {LONG}\nimport torch\nfrom transformers import Trainer\n", "utf-8")
    outcome = run("check", ".", cwd=project)
    assert outcome.status in (0, 1)
    assert outcome.err == ""


def test_a_default_of_hydra_that_no_file_can_have(run: Run, project: Path) -> None:
    text = f"defaults:\n  - {LONG}: {LONG}\n  - _self_\ntrainer:\n  _target_: lightning.Trainer\n  precision: 16\n"
    (project / "config.yaml").write_text(text, "utf-8")
    outcome = run("inspect", "--context", "config.yaml", "uv.lock", cwd=project)
    assert (outcome.status, outcome.err) in [(0, ""), (3, "")]
    assert run("check", ".", cwd=project).err == ""


@posix
def test_links_that_lead_nowhere_are_gaps(run: Run, project: Path) -> None:
    for name in ("a.py", "conf.yaml", "requirements.txt", "n.ipynb"):
        (project / name).symlink_to(LONG)
    outcome = run("check", ".", cwd=project)
    assert outcome.status == 3
    assert "requirements.txt: cannot be read: File name too long" in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [
        *(("check", LONG), ("check", f"{LONG}/uv.lock"), ("inspect", LONG), ("diagnose", LONG)),
        *(("check", "uv.lock", "--context", LONG), ("check", "uv.lock", "--knowledge", LONG)),
        *(("check", "uv.lock", "--output", f"json={LONG}/x"), ("check", "uv.lock", "--output", f"json={LONG}")),
        *(("check", "--python", LONG), ("probe", "GC-0004", "--python", f"./{LONG}"), ("knowledge", "lint", LONG)),
        *(("fix", LONG, "--dry-run", "--offline"), ("knowledge", "matrix", "--measured", LONG)),
    ],
)
def test_names_that_no_file_can_have(run: Run, project: Path, arguments: tuple[str, ...]) -> None:
    assert run(*arguments, cwd=project).status in (2, 3)


def test_a_package_folder_that_may_not_be_looked_at_counts_as_the_project_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the tests may be allowed everything, so that no mode keeps them out."""
    real = os.stat

    def refusing(path: Any, *more: Any, **named: Any) -> os.stat_result:
        if str(path).endswith("__init__.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *more, **named)

    (tmp_path / "own").mkdir()
    program = str(tmp_path / "train.py")

    def found(name: str) -> bool:
        return Project(root_of_folder(tmp_path, "."), ".").find(name, program) is not None

    assert not any(found(name) for name in ("own", LONG, "a\0b"))
    monkeypatch.setattr(os, "stat", refusing)
    assert found("own")


@posix
def test_pipes_are_not_waited_for(run: Run, project: Path) -> None:
    for name in ("x.py", "y.yaml", "n.ipynb", "run.sh", "setup.cfg"):
        os.mkfifo(project / name)
    outcome = run("check", ".", cwd=project)
    assert outcome.status in (0, 1, 3)


@posix
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("own.yaml", "is neither a file nor a folder"),
        ("/dev/zero", "lies outside the folder of this file"),
        ("/dev/stdin", "lies outside the folder of this file"),
        ("-", "is not there"),
    ],
)
def test_records_of_a_project_are_files(project: Path, place: str, reason: str) -> None:
    os.mkfifo(project / "own.yaml")
    (project / "gradcompat.toml").write_text(f"knowledge = [{place!r}]\n", "utf-8")
    # Standard input is a pipe that says nothing and has no end.
    with subprocess.Popen(
        [*PROGRAM, "check", "uv.lock"],
        cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(60) == 2
    assert said.startswith("error: `")
    assert reason in said


@posix
@pytest.mark.parametrize("way", ["script", "module"])
def test_a_folder_that_is_gone(tmp_path: Path, way: str) -> None:
    (tmp_path / "gone").mkdir()
    program = PROGRAM if way == "module" else [str(Path(sys.executable).with_name("gradcompat"))]
    done = subprocess.run(
        ["/bin/sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", *program, "check", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: the current folder cannot be found: No such file or directory"


OUTPUTS = [("check", "uv.lock"), ("check", "uv.lock", "--format", "json"), ("--help",), ("explain", "GC-0004")]


@pytest.mark.e2e  # how the process itself ends
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", OUTPUTS)
def test_a_full_device(project: Path, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments], cwd=project, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 74
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_report_on_a_full_device(run: Run, project: Path) -> None:
    outcome = run("check", "uv.lock", "--output", "json=/dev/full", cwd=project)
    assert outcome.status == 2
    assert outcome.err == "error: `/dev/full`: cannot be written: No space left on device\n"


@pytest.mark.e2e  # how the process itself ends
@posix
@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("arguments", OUTPUTS)
def test_a_reader_that_has_gone(project: Path, blocked: bool, arguments: tuple[str, ...]) -> None:
    """The signal ends the process, as with other programs; where it is kept away, the status says the same."""
    prepare: Callable[[], object] | None = None
    if blocked:
        prepare = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])  # noqa: E731
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=project,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,  # noqa: PLW1509
    )
    os.close(write)
    _, said = process.communicate(timeout=60)
    if blocked:
        assert process.returncode == 74
        assert said == "error: standard output cannot be written: Broken pipe\n"
    else:
        assert (process.returncode, said) == (-signal.SIGPIPE, "")


@posix
@pytest.mark.parametrize(("closed", "status"), [(">&-", 74), ("2>&-", 2)])
def test_a_closed_stream(project: Path, closed: str, status: int) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *PROGRAM, "check", "nothing.lock"],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("traceback", [False, True])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("a\nb"), "RuntimeError: a b"),
        (RecursionError(), "RecursionError"),
        (PermissionError(13, "Permission denied", "x"), "PermissionError: [Errno 13] Permission denied: 'x'"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_what_nobody_foresaw(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    said: str,
    traceback: bool,
) -> None:
    def failing() -> object:
        raise error

    if traceback:
        monkeypatch.setenv("GRADCOMPAT_TRACEBACK", "1")
    assert command_end.guarded(failing) == 70
    err = capsys.readouterr().err
    assert ("Traceback" in err) == traceback
    assert f"error: internal error: {said}\n\nhint: please report it with " in err


def test_a_dependency_that_is_missing_is_no_error_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    def importing() -> object:
        raise ModuleNotFoundError("No module named 'tomlkit.items'", name="tomlkit.items")

    assert command_end.guarded(importing) == 70
    assert capsys.readouterr().err.startswith("error: gradcompat depends on `tomlkit.items`, which is not installed\n")


def test_what_was_foreseen(capsys: pytest.CaptureFixture[str]) -> None:
    def refusing() -> object:
        raise UsageError("makes no sense", path="x", hint="write another one")

    assert command_end.guarded(refusing) == 2
    assert capsys.readouterr().err == "error: `x`: makes no sense\n\nhint: write another one\n"
    assert command_end.guarded(lambda: 3) == 3
    assert command_end.guarded(lambda: None) == 0
