"""Files by the paths that others name them by, which may begin in any folder."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePosixPath

_NO_NAMES = (".", "..", "/")
_OF_PROJECT = 2  # parts at the end of a path on another machine that a file of the project shares with it


@lru_cache(maxsize=2**14)  # each path is compared with many
def path_of(source: str) -> PurePosixPath:
    """The path of a file by its label."""
    return PurePosixPath(source)


def is_meant(named: PurePosixPath, file: PurePosixPath) -> bool:
    """Does the path of a file end as it is named?

    A path from the root, or from a home, is that of the project on the machine where it runs: the folder of the file is
    enough.

    >>> is_meant(PurePosixPath("../conf/ds.json"), PurePosixPath("project/conf/ds.json"))
    True
    >>> is_meant(PurePosixPath("/scratch/me/project-v2/src/train.py"), PurePosixPath("project/src/train.py"))
    True
    """
    parts = tuple(part for part in named.parts if part not in _NO_NAMES)
    if named.is_absolute() or parts[:1] == ("~",):
        parts = parts[-_OF_PROJECT:]
    return bool(parts) and file.parts[-len(parts) :] == parts
