"""Where a user's files are on each platform: the cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str], platform: str) -> Path | None:
    """Where this user's cache is; None where the environment does not say.

    GRADCOMPAT_CACHE, if it is set; else what the platform has for that.
    """
    if environ.get("GRADCOMPAT_CACHE"):
        return Path(environ["GRADCOMPAT_CACHE"])
    if platform == "win32":
        local, profile = environ.get("LOCALAPPDATA"), environ.get("USERPROFILE")
        folder = Path(local) if local else Path(profile, "AppData", "Local") if profile else None
        return folder / "gradcompat" / "Cache" if folder is not None else None
    stated, user = environ.get("XDG_CACHE_HOME", ""), environ.get("HOME")
    if platform == "darwin":
        return Path(user, "Library", "Caches", "gradcompat") if user else None
    if os.path.isabs(stated):  # a relative one is to be ignored, says the specification
        return Path(stated, "gradcompat")
    return Path(user, ".cache", "gradcompat") if user else None
