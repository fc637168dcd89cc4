"""A folder that one run at a time works in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gradcompat.errors import KnowledgeError

if sys.platform != "win32":
    import fcntl


@contextmanager
def alone(folder: Path, *, wait: bool) -> Iterator[None]:
    """No other run works in a folder meanwhile; it is made where it is not there. The lock ends with the process.

    Args:
        folder: to work in.
        wait: until it is free.

    Raises:
        KnowledgeError: if another run works in it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if sys.platform == "win32":
            yield
            return
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise KnowledgeError(f"cannot be used: {error.strerror}", path=str(folder)) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait until it has ended"
            raise KnowledgeError("another run of `knowledge read` works in it", path=str(folder), hint=hint) from None
        yield
    finally:
        os.close(descriptor)
