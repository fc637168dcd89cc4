"""Work on many files by all processors: results in the order of the tasks, whatever happens to a process.

``ProcessPoolExecutor`` gives up all that is left when one of its processes dies, and may wait for ever if that happens
while it is handed its work. Here the task is told of which a process died, and the others go on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from gradcompat.processes.worker_process import Worker, WorkerDied

Task = TypeVar("Task")
Result = TypeVar("Result")
_Chunk = tuple[int, Sequence[Any]]  # the place of the first task among all, and the tasks that are done in one go

_LARGEST_CHUNK = 16


def map_in_processes(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    lost: Callable[[Task], Result],
    *,
    processors: int,
    prepare: Callable[..., None],
    arguments: tuple[object, ...],
    steps_of: Callable[[Result], int] | None = None,
    most_steps: int = 0,
) -> list[Result]:
    """The result of each task, or of the first ones that take all of the steps.

    When a process dies (the system ends it for its memory, a library crashes), its tasks are done again one by one by
    another process, so that exactly those are lost that a process dies of.

    Args:
        work: done in another process; what it raises is raised here.
        tasks: what to do it with.
        lost: the result of a task of which a process has died.
        processors: how many processes there are.
        prepare: runs once in each of them.
        arguments: of ``prepare``.
        steps_of: how many steps a result took; None if any number of tasks is done.
        most_steps: once the results took more, no task is begun that comes after all others.

    Raises:
        OSError: if no process can be started.
    """
    size = max(1, min(_LARGEST_CHUNK, len(tasks) // (processors * 4)))
    chunks = [(start, tasks[start : start + size]) for start in range(0, len(tasks), size)]
    pool = _Pool(work, lost, prepare, arguments, deque(chunks), steps_of, most_steps)
    threads: list[threading.Thread] = []
    try:
        with suppress(RuntimeError):  # the system has no thread left: those that there are do it all
            for _ in range(min(processors, len(chunks)) - 1):
                thread = threading.Thread(target=pool.drive, daemon=True)
                thread.start()
                threads.append(thread)
        pool.drive()
        for thread in threads:
            thread.join()
    finally:
        pool.end()
        for thread in threads:
            thread.join()
    if pool.errors:
        raise pool.errors[0]
    return [result for _, results in sorted(pool.done.items()) for result in results]


class _Pool(Generic[Task, Result]):
    """What the threads share; each drives a process of its own until no chunk is left.

    Attributes:
        done: the results of each chunk, by the place of its first task.
        errors: what was raised; the first one ends all.
    """

    def __init__(
        self,
        work: Callable[[Task], Result],
        lost: Callable[[Task], Result],
        prepare: Callable[..., None],
        arguments: tuple[object, ...],
        waiting: deque[_Chunk],
        steps_of: Callable[[Result], int] | None,
        most_steps: int,
    ) -> None:
        self._work, self._lost = work, lost
        self._prepare, self._arguments = prepare, arguments
        self._waiting = waiting
        self._steps_of, self._most_steps = steps_of, most_steps
        self._taken = 0
        self._furthest = -1  # the place of the last chunk that was begun
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self._ended = False
        self.done: dict[int, list[Result]] = {}
        self.errors: list[BaseException] = []

    def drive(self) -> None:
        """In a thread: take chunks and have them done."""
        worker: Worker | None = None
        try:
            while not self._ended and not self.errors:
                chunk = self._next()
                if chunk is None:
                    return
                start, tasks = chunk
                try:
                    worker = worker or self._started()
                    self.done[start] = worker.call(_results, self._work, tasks)
                    self._count(self.done[start])
                except WorkerDied:
                    worker = None
                    if len(tasks) == 1:
                        self.done[start] = [self._lost(tasks[0])]
                    else:
                        alone = [(start + at, [task]) for at, task in enumerate(tasks)]
                        self._waiting.extendleft(reversed(alone))
        except BaseException as error:  # raised where the work was asked for
            self.errors.append(error)

    def _next(self) -> _Chunk | None:
        """The next chunk, if there are steps for it: one that another process died of stands before others."""
        with self._lock:
            if not self._waiting or (self._spent and self._waiting[0][0] > self._furthest):
                return None
            start, tasks = self._waiting.popleft()
            self._furthest = max(self._furthest, start)
            return start, tasks

    @property
    def _spent(self) -> bool:
        return self._steps_of is not None and self._taken > self._most_steps

    def _count(self, results: Sequence[Result]) -> None:
        if self._steps_of is not None:
            with self._lock:
                self._taken += sum(map(self._steps_of, results))

    def _started(self) -> Worker:
        worker = Worker()
        with self._lock:
            self._workers.append(worker)
            ended = self._ended
        if ended:
            worker.kill()
        worker.call(self._prepare, *self._arguments)
        return worker

    def end(self) -> None:
        """End all processes; they hold nothing that would have to be put away."""
        with self._lock:
            self._ended = True
        for worker in self._workers:
            worker.kill()
            with suppress(OSError):
                worker.close()


def _results(work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    return [work(task) for task in tasks]
