"""Writing a file whole: whoever reads it sees the old content or the new one, also after a kill."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from gradcompat.files.abandoned_files import PREFIX, remove_abandoned

_STAGED = ".staged"


def write_atomically(path: Path, data: bytes) -> None:
    """Put a file in its place by rename.

    Raises:
        OSError: if it cannot be written; the old one is then as it was.
    """
    temporary = stage(path, data)
    try:
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def stage(path: Path, data: bytes) -> str:
    """A new file beside the place, on the disk, with the rights of the old one or those that any new file would get.

    Raises:
        OSError: if it cannot be written, or the old one may not be.
    """
    mode = stat.S_IMODE(path.stat().st_mode) if os.path.exists(path) else 0o666 & ~_umask()
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError(None, "it is read-only")
    remove_abandoned(path.parent, _STAGED)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=PREFIX, suffix=_STAGED)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
