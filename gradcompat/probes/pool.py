"""Local processes that measure: they end, and clear away what they have begun, when whoever started them does.

A process of the pool waits for the interpreters and installers that it has started. Ctrl-C reaches it from the terminal
or from :func:`interrupt`, and only while a task is at work is it an exception, so that the task ends its children and
removes its folders. Where the starter is killed, each process of the pool interrupts itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from types import FrameType

from gradcompat.model.probe import Row
from gradcompat.probes.matrix import Task, measured

_TO_CLEAR_AWAY = 10.0
_IDLE = threading.Event()
_IDLE.set()


def pool(processes: int) -> ProcessPoolExecutor:
    """Processes for :func:`work`; they start afresh, because a copy of this one would have its threads' locks."""
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _begin)


def work(task: Task) -> tuple[Row, ...]:
    """Measure one release, and stop at once when interrupted."""
    _IDLE.clear()
    signal.signal(signal.SIGINT, _stop)
    try:
        return measured(task)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _IDLE.set()


def interrupt() -> None:
    """Stop what the processes of all pools are at; those that the terminal has told already take no notice."""
    if sys.platform == "win32":  # there the console tells everybody, and nobody else can
        return
    for process in multiprocessing.active_children():
        if process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)


def _stop(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough: the next one would come in the midst of clearing away
    raise KeyboardInterrupt


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    wait([parent.sentinel])
    signal.raise_signal(signal.SIGINT)  # reaches the main thread, which is the one that measures
    _IDLE.wait(_TO_CLEAR_AWAY)
    os._exit(1)
