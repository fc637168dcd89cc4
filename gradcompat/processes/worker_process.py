"""A Python process of our own, isolated from the folder that is audited, which is sent calls and answers them.

``multiprocessing`` starts its processes (``spawn``, ``forkserver``) with the current folder first on their path: there
``./multiprocessing/__init__.py`` of an audited project would run. A :class:`Worker` is started with ``-I`` in the
folder of this package, and then gets the path of this process without the current folder. Calls and answers are pickles
over its standard input and output, which nobody else holds. It ends when whoever started it does.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO, NoReturn, TypeVar

Result = TypeVar("Result")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LENGTH = struct.Struct("!Q")
_SECONDS_TO_END = 10.0
# Ctrl-C reaches every process of the terminal; one that is just starting has nothing to say about it. The package is
# loaded from where this process has it, whatever the path would find.
_START = """\
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
import importlib.util, json, sys
start = sys.stdin.buffer.readline()
if not start.endswith(b"\\n"):
    sys.exit(1)  # whoever started it is gone
sys.path[:], package = json.loads(start)
spec = importlib.util.spec_from_file_location("gradcompat", package)
sys.modules["gradcompat"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["gradcompat"])
from gradcompat.processes.worker_process import serve
serve()
"""


class WorkerDied(Exception):
    """The process ended before it answered: somebody killed it, or what it called ended it."""


class Worker:
    """One such process, for one thread."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            OSError: if the system has no process left for it.
        """
        command = [os.path.abspath(sys.executable), "-I", "-X", f"utf8={sys.flags.utf8_mode}"]
        command += ["-B"] if sys.dont_write_bytecode else []
        self._process = subprocess.Popen(  # noqa: S603  # this interpreter, with a program of ours
            [*command, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_PACKAGE
        )
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018
        self._calls, self._answers = self._process.stdin, self._process.stdout
        start = json.dumps([_path(), os.path.join(_PACKAGE, "__init__.py")]).encode("ascii")
        with suppress(OSError):  # it has died, which the first call will find
            self._calls.write(start + b"\n")
            self._calls.flush()

    def call(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Call a function of a module in the process, and wait for what it returns; what it raises is raised here.

        Raises:
            WorkerDied: if the process ends before it has answered.
        """
        try:
            _send(self._calls, pickle.dumps((function, arguments)))
            answer = _received(self._answers)
        except OSError:
            answer = None
        if answer is None:
            raise WorkerDied("the process that was at it has died")
        result, error = pickle.loads(answer)  # noqa: S301  # from a process of ours
        if error is not None:
            raise error
        returned: Result = result
        return returned

    def interrupt(self) -> None:
        """Send it what Ctrl-C sends; on Windows the console tells everybody, and nobody else can."""
        if os.name != "nt":
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it at once, and wait until it has ended; may be called by another thread than :meth:`call`."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let it end by itself when it has nothing to do, and wait for that."""
        with suppress(OSError):
            self._calls.close()
        self._process.wait()
        self._answers.close()


def _path() -> list[str]:
    """Where this process finds modules, without the current folder unless ``PYTHONPATH`` names it."""
    stated = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    wanted = {os.path.abspath(entry) for entry in stated.split(os.pathsep)} if stated else set()
    here = os.getcwd()
    return [entry for entry in sys.path if os.path.isabs(entry) and (entry != here or entry in wanted)]


def serve() -> NoReturn:
    """What the process does: one call after the other, until whoever started it is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    calls, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    with suppress(OSError):  # there is no standard error
        os.dup2(2, 1)  # what a library prints is no answer
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  # until the process ends
    waiting: SimpleQueue[bytes] = SimpleQueue()
    idle = threading.Event()
    idle.set()
    threading.Thread(target=_listen, args=(calls, waiting, idle), daemon=True).start()
    while True:
        call = waiting.get()
        idle.clear()
        try:
            answer = _answer(call)
        except MemoryError:
            os._exit(1)  # without a traceback: it counts as died
        idle.set()
        with suppress(OSError):
            _send(answers, answer)


def _answer(call: bytes) -> bytes:
    try:
        function, arguments = pickle.loads(call)  # noqa: S301  # from the process that started this one
        return pickle.dumps((function(*arguments), None))
    except MemoryError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        try:
            return pickle.dumps((None, error))
        except Exception:
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))


def _listen(calls: BinaryIO, waiting: SimpleQueue[bytes], idle: threading.Event) -> None:
    """Take calls while the others are at work, so that the end of whoever sends them is seen at once."""
    with suppress(OSError):
        while (call := _received(calls)) is not None:
            waiting.put(call)
    # The main thread may wait for a process of its own: only a signal that is meant for it wakes it up.
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)
    idle.wait(_SECONDS_TO_END)
    os._exit(1)


def _send(stream: BinaryIO | Any, data: bytes) -> None:
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _received(stream: BinaryIO | Any) -> bytes | None:
    """One message; None where the stream ends."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data: bytes = stream.read(length)
    return data if len(data) == length else None
