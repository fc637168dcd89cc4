"""Local processes that measure: they end, and clear away what they have begun, when whoever started them does.

A process of the pool waits for the interpreters and installers that it has started. Ctrl-C reaches it from the terminal
or from :meth:`Pool.interrupt`, and only while a task is at work is it an exception, so that the task ends its children
and removes its folders. Where the starter is killed, each process of the pool is interrupted in the same way.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import FrameType
from typing import Any, TypeVar

from gradcompat.model.probe import Row
from gradcompat.probes.matrix import Task, measured
from gradcompat.processes.worker_process import Worker, WorkerDied

Result = TypeVar("Result")


class Pool(Executor):
    """An executor of isolated processes, each driven by a thread; one that dies takes its call alone with it."""

    def __init__(self, processes: int) -> None:
        """Start none yet."""
        self._threads = ThreadPoolExecutor(processes)
        self._own = threading.local()
        self._workers: set[Worker] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function of a module in a process; its future fails with ``WorkerDied`` where the process does."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def interrupt(self) -> None:
        """Stop what the processes are at; those that the terminal has told already take no notice."""
        for worker in list(self._workers):
            worker.interrupt()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As every executor; the processes end when they have nothing to do."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        while self._workers:
            self._workers.pop().close()

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        worker: Worker | None = getattr(self._own, "worker", None)
        try:
            if worker is None:
                worker = self._own.worker = Worker()
                self._workers.add(worker)
                worker.call(_begin)
            return worker.call(_named, function, arguments, named)
        except WorkerDied:
            if worker is not None:
                self._workers.discard(worker)
                worker.close()
            self._own.worker = None
            raise


def work(task: Task) -> tuple[Row, ...]:
    """Measure one release, and stop at once when interrupted."""
    return interruptible(measured, task)


def interruptible(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a process of the pool so that it stops at once when it is interrupted."""
    signal.signal(signal.SIGINT, _stop)
    try:
        return function(*arguments)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _stop(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # once is enough: the next one would come in the midst of clearing away
    raise KeyboardInterrupt


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _named(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*arguments, **named)
