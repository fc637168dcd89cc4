"""What the processes of :mod:`gradcompat.audit.worker_pool` are asked to do in tests; they import it by its name."""

from __future__ import annotations

import os
import signal

from gradcompat.errors import Malformed


def nothing() -> None:
    """What a process has to prepare."""


def doubled(fatal: frozenset[int], task: int) -> str:
    """The process dies of some tasks."""
    if task in fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"done {task}"


def lost(task: int) -> str:
    return f"lost {task}"


def refusing(task: int) -> str:
    """One task is refused."""
    if task == 5:
        raise Malformed("is empty", path="x")
    return ""
