"""Temporary files that a killed process has left beside the place that they were meant for."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

PREFIX = ".gradcompat-"  # of every temporary file that is moved into its place once it is whole
_ABANDONED = 3600.0  # seconds after which nobody goes on writing to one


def remove_abandoned(folder: Path, suffix: str) -> None:
    """Delete temporary files of a folder that nobody has written to for an hour; what cannot be deleted stays.

    Args:
        folder: where they stand.
        suffix: of their names, behind :data:`PREFIX`.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(PREFIX) or not entry.name.endswith(suffix):
                continue
            with suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
                    os.unlink(entry.path)
