"""Opening regular files alone: a pipe in a project would be waited for, and a device has no end.

Whether there is a file is asked with ``os.path`` everywhere, which answers no where ``pathlib`` raises: names that are
longer than the system allows, folders that may not be entered, links to either.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

# Opening a pipe or a terminal would wait for someone to write to it; a regular file does not mind.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotRegular(OSError):
    """It is a pipe, a socket or a device."""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read its bytes.

    Raises:
        IsADirectoryError: if it is a folder.
        NotRegular: if it is a pipe, a socket or a device.
        OSError: if it cannot be opened.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError:
        raise OSError(errno.EINVAL, "the path holds a NUL", os.fspath(path)) from None
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise NotRegular(errno.EINVAL, "it is a pipe, a socket or a device, not a file", os.fspath(path))


def read_regular(path: str | os.PathLike[str], limit: int = -1) -> bytes:
    """The bytes of a file, at most ``limit`` of them.

    Raises:
        OSError: as :func:`open_regular`, or if it cannot be read.
    """
    with open_regular(path) as file:
        return file.read(limit)
