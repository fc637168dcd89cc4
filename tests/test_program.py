"""The program inside of a test's process is the program: it says the same, ends the same, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import Run

CALLS: list[tuple[tuple[str, ...], bytes]] = [
    (("--version",), b""),
    (("check", "--help"), b""),
    ((), b""),
    (("check", "--no-such-option"), b""),
    (("no-such-command",), b""),
    (("check", "absent.lock"), b""),
    (("check", "-"), b"transformers==4.49.0\r\npeft==0.15.0\n"),
    (("check", "-"), b"\xff\xfe\x00\x01\x02"),
    (("check", "-"), b""),
    (("diagnose", "-"), "{'loss': nan} ü\n".encode()),
    (("explain", "GC-0004", "--format", "markdown"), b""),
    (("knowledge", "new"), b""),
]


@pytest.mark.e2e
@pytest.mark.parametrize(("arguments", "stdin"), CALLS, ids=range(len(CALLS)))
def test_it_says_and_ends_as_the_process_does(
    run: Run, run_process: Run, arguments: tuple[str, ...], stdin: bytes
) -> None:
    assert run(*arguments, stdin=stdin) == run_process(*arguments, stdin=stdin)


HARD_END = """\
import os, sys
{first}
class Kept:
    def __del__(self, write=os.write):
        write(1, b"taken apart\\n")
sys.kept_to_the_end = Kept()
from gradcompat.cli.main import console_script
sys.argv = ["gradcompat", *sys.argv[1:]]
console_script()
"""


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("", []),
        ("import atexit; atexit.register(print, 'at the exit', flush=True)", ["at the exit", "taken apart"]),
    ],
)
def test_the_process_is_not_taken_apart_unless_something_waits_for_its_end(
    first: str, said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.46.0\ntorch==2.5.1\n", "utf-8")
    script = HARD_END.format(first=first)
    for arguments, status in (
        (["--version"], 0),
        (["check", "--strict", "requirements.txt"], 1),
        (["check", "absent"], 2),
    ):
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status, done.stderr
        lines = done.stdout.splitlines()
        assert lines[len(lines) - len(said) :] == said
        assert len(lines) > len(said)  # nothing that was written is lost


def test_variables_and_the_folder_are_those_of_the_call(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.49.0\n", "utf-8")
    narrow, wide = (run("explain", "GC-0004", env={"COLUMNS": columns}).out for columns in ("60", "100"))
    assert len(narrow.splitlines()) > len(wide.splitlines())
    assert run("inspect", "requirements.txt").status == 0
    assert run("inspect", "requirements.txt", cwd=tmp_path.parent).status == 2


def test_nothing_is_left_behind(run: Run) -> None:
    def state() -> tuple[object, ...]:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        streams = (sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.excepthook, sys.modules["__main__"])
        return (dict(os.environ), Path.cwd(), gc.isenabled(), handlers, streams, tempfile.gettempdir())

    before = state()
    for arguments in (["--version"], ["check", "absent.lock"], ["check", "--no-such-option"]):
        run(*arguments, env={"GRADCOMPAT_CACHE": "elsewhere", "COLUMNS": "40"})
        assert state() == before


def test_what_would_be_a_traceback_fails_the_test(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcompat.cli.commands.explain.known_records", lambda *_: 1 / 0)
    with pytest.raises(AssertionError, match="internal error: ZeroDivisionError"):
        run("explain", "GC-0004")


def test_variables_of_python_need_a_process(run: Run) -> None:
    with pytest.raises(ValueError, match="PYTHONUTF8: Python reads it when it starts"):
        run("--version", env={"PYTHONUTF8": "1"})
