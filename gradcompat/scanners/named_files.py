"""Files by the paths that others name them by, which may begin in any folder."""

from __future__ import annotations

from pathlib import PurePosixPath

_NO_NAMES = (".", "..", "/")


def is_meant(named: PurePosixPath, file: PurePosixPath) -> bool:
    """Does the path of a file end as it is named?

    >>> is_meant(PurePosixPath("../conf/ds.json"), PurePosixPath("project/conf/ds.json"))
    True
    """
    parts = tuple(part for part in named.parts if part not in _NO_NAMES)
    return bool(parts) and file.parts[-len(parts) :] == parts
