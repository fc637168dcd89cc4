"""Where a program of the ``PATH`` is; never in the current folder, which may be that of a project that is audited.

``shutil.which`` looks there first on Windows, and wherever the ``PATH`` has an empty or a relative part.
"""

from __future__ import annotations

import os


def find_program(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program; None if there is none.

    Args:
        name: without a folder; on Windows also without its ending.
        path: the folders, as the variable ``PATH`` has them, if it is not that of this process.
    """
    folders = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    endings = ("", *os.environ.get("PATHEXT", "").split(os.pathsep)) if os.name == "nt" else ("",)
    candidates = (
        os.path.join(folder, name + ending) for folder in folders if os.path.isabs(folder) for ending in endings
    )
    return next(
        (candidate for candidate in candidates if os.path.isfile(candidate) and os.access(candidate, os.X_OK)), None
    )
