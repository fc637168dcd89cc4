"""Work on many files by all processors: results in the order of the tasks, whatever happens to a process.

``ProcessPoolExecutor`` gives up all that is left when one of its processes dies, and may wait for ever if that happens
while it is handed its work. Here the task is told of which a process died, and the others go on.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe, Process, connection, parent_process
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Line = connection.Connection  # to a process and back

_LARGEST_CHUNK = 64
_MOST_PROCESSES = 60  # Windows cannot wait for more


@dataclass(frozen=True, slots=True)
class _Chunk(Generic[Task]):
    """Tasks that are done in one go, and the place of the first among all."""

    start: int
    tasks: Sequence[Task]


def in_processes(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    lost: Callable[[Task], Result],
    *,
    processors: int,
    prepare: Callable[..., None],
    arguments: tuple[object, ...],
) -> list[Result]:
    """The result of each task.

    When a process dies (the system ends it for its memory, a library crashes), its tasks are done again one by one by
    another process, so that exactly those are lost that a process dies of.

    Args:
        work: done in another process; what it raises is raised here.
        tasks: what to do it with.
        lost: the result of a task of which a process has died.
        processors: how many processes there are.
        prepare: runs once in each of them.
        arguments: of ``prepare``.
    """
    size = max(1, min(_LARGEST_CHUNK, len(tasks) // (processors * 4)))
    waiting = deque(_Chunk(start, tasks[start : start + size]) for start in range(0, len(tasks), size))
    done: dict[int, list[Result]] = {}
    processes: dict[Line, Process] = {}
    busy: dict[Line, _Chunk[Task]] = {}
    try:
        while waiting or busy:
            idle = [line for line in processes if line not in busy]
            while waiting and (idle or len(processes) < min(processors, _MOST_PROCESSES)):
                line = idle.pop() if idle else _start(processes, work, prepare, arguments)
                _send(line, waiting.popleft(), busy)
            ready = connection.wait(list(busy))
            for line in [one for one in busy if one in ready]:
                chunk = busy.pop(line)
                try:
                    done[chunk.start] = _received(line)
                except (EOFError, OSError):
                    processes.pop(line).join()
                    if len(chunk.tasks) == 1:
                        done[chunk.start] = [lost(chunk.tasks[0])]
                    else:
                        alone = [_Chunk(chunk.start + at, [task]) for at, task in enumerate(chunk.tasks)]
                        waiting.extendleft(reversed(alone))
    finally:
        for process in processes.values():
            process.kill()  # they hold nothing that would have to be put away
        for process in processes.values():
            process.join()
    return [result for _, results in sorted(done.items()) for result in results]


def _start(
    processes: dict[Line, Process],
    work: Callable[[Task], Result],
    prepare: Callable[..., None],
    arguments: tuple[object, ...],
) -> Line:
    here, there = Pipe()
    process = Process(target=_serve, args=(there, work, prepare, arguments), daemon=True)
    process.start()
    there.close()  # so that the line ends when the process does
    processes[here] = process
    return here


def _send(line: Line, chunk: _Chunk[Task], busy: dict[Line, _Chunk[Task]]) -> None:
    busy[line] = chunk
    try:
        line.send(chunk.tasks)
    except OSError:
        return  # it is dead, and found to be when its answer is read


def _received(line: Line) -> Any:
    results, error = line.recv()
    if error is not None:
        raise error
    return results


def _serve(
    line: Line, work: Callable[[Task], Result], prepare: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """What a process does until it is ended."""
    # Ctrl-C reaches every process of the terminal; none of them has anything to say about it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        prepare(*arguments)
        while True:
            _answer(line, work)
    except MemoryError:
        os._exit(1)  # without a traceback: what it was doing is done again, or told to be lost


def _answer(line: Line, work: Callable[[Any], Any]) -> None:
    tasks = line.recv()
    try:
        answer: tuple[Any, Exception | None] = ([work(task) for task in tasks], None)
    except MemoryError:
        raise
    except Exception as error:
        answer = (None, error)  # raised where the work was asked for
    line.send(answer)


def _end_with_parent() -> None:
    """A first process that is killed alone would leave the others waiting for work that never comes."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
