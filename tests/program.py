"""Running the program: inside of this process, which is what a test wants, or as a process of its own.

Both go through ``gradcompat/__main__.py`` and :func:`gradcompat.cli.main.main`, with the arguments, streams, folder and
environment of a call, so that they differ in nothing but the time that starting Python takes. A process is needed only
where the process is what is tested: what is imported, signals, closed pipes, a terminal, variables of Python itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType

import pytest

import gradcompat
from gradcompat.cli.command_end import INTERNAL_ERROR
from tests.shared_plans import plans_shared

_FILE = Path(gradcompat.__file__).with_name("__main__.py")
_MAIN_CODE = compile(_FILE.read_text("utf-8"), str(_FILE), "exec")
_MAIN = ModuleSpec("gradcompat.__main__", None, origin=str(_FILE))

_NO_MATTER = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")  # to what the program does
SECONDS = 120  # after which a call hangs


@dataclass(frozen=True)
class Outcome:
    """What the program left behind.

    Attributes:
        status: its exit status.
        out: what it wrote to standard output, with ``\\n`` for the platform's line ends.
        err: the same of standard error.
    """

    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


def surroundings(env: Mapping[str, str] | None) -> dict[str, str]:
    """The environment variables of a call: those of the tests without an active environment, and ``env``."""
    kept = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    return {**kept, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8", **(env or {})}


def as_process(arguments: tuple[str, ...], stdin: str | bytes, cwd: Path, env: Mapping[str, str] | None) -> Outcome:
    """Run ``python -m gradcompat`` with these arguments."""
    done = subprocess.run(
        [sys.executable, "-m", "gradcompat", *arguments],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        cwd=cwd,
        env=surroundings(env),
        timeout=SECONDS,
        check=False,
    )
    return _outcome(done.returncode, done.stdout, done.stderr)


def in_process(arguments: tuple[str, ...], stdin: str | bytes, cwd: Path, env: Mapping[str, str] | None) -> Outcome:
    """Do what ``python -m gradcompat`` does with these arguments, without starting Python.

    An exception that would be a traceback is raised. What the program changes in its process is put back.

    Raises:
        ValueError: if ``env`` has variables that Python reads when it starts.
    """
    if of_python := [name for name in env or {} if name.startswith("PYTHON") and name not in _NO_MATTER]:
        raise ValueError(f"{', '.join(of_python)}: Python reads it when it starts, so this needs `run_process`")
    with tempfile.TemporaryFile() as file, _state_kept(surroundings(env), cwd), _deadline(SECONDS), plans_shared():
        file.write(stdin.encode() if isinstance(stdin, str) else stdin)
        file.seek(0)
        out, err = io.BytesIO(), io.BytesIO()
        sys.argv = [str(_FILE), *arguments]
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(file.fileno(), closefd=False)), "utf-8")
        sys.stdout = io.TextIOWrapper(out, "utf-8")
        sys.stderr = io.TextIOWrapper(err, "utf-8", errors="backslashreplace", write_through=True)
        try:
            sys.modules["__main__"] = module = importlib.util.module_from_spec(_MAIN)
            exec(_MAIN_CODE, module.__dict__)  # noqa: S102  # runpy cannot use the loader that pytest puts in its way
            code: object = None
        except SystemExit as stopped:
            code = stopped.code
        if code is not None and not isinstance(code, int):
            sys.stderr.write(f"{code}\n")
            code = 1
        sys.stdout.flush()
        return _outcome(int(code or 0), out.getvalue(), err.getvalue())


def _outcome(status: int, out: bytes, err: bytes) -> Outcome:
    texts = [stream.decode("utf-8").replace(os.linesep, "\n") for stream in (out, err)]
    assert "Traceback" not in texts[1], texts[1]
    assert status != INTERNAL_ERROR, texts[1]
    return Outcome(status, *texts)


@contextlib.contextmanager
def _state_kept(environment: Mapping[str, str], cwd: Path) -> Iterator[None]:
    """Other variables and another folder for a while; afterwards everything that ``main`` touches is as it was."""
    names = ("argv", "stdin", "stdout", "stderr", "excepthook")
    system = {name: getattr(sys, name) for name in names}
    main = sys.modules["__main__"]
    variables, folder, temporary = dict(os.environ), Path.cwd(), tempfile.tempdir
    caught = [signal.SIGINT, *([signal.SIGPIPE] if hasattr(signal, "SIGPIPE") else [])]
    handlers = {number: signal.getsignal(number) for number in caught}
    collecting = gc.isenabled()
    tempfile.tempdir = None  # found again in the variables
    os.chdir(cwd)
    try:
        _set(environment)
        yield
    finally:
        for name, value in system.items():
            setattr(sys, name, value)
        sys.modules["__main__"] = main
        _set(variables)
        os.chdir(folder)
        tempfile.tempdir = temporary
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if collecting:
            gc.enable()


def _set(variables: Mapping[str, str]) -> None:
    zone = os.environ.get("TZ")
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update({name: value for name, value in variables.items() if os.environ.get(name) != value})
    if variables.get("TZ") != zone and hasattr(time, "tzset"):
        time.tzset()


@contextlib.contextmanager
def _deadline(seconds: int) -> Iterator[None]:
    """Fail the test where the program hangs, as a process would be killed for it."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def hangs(number: int, frame: FrameType | None) -> None:
        pytest.fail(f"still runs after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
