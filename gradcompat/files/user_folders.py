"""Where a user's files are on each platform: the cache."""

from __future__ import annotations

import os
from collections.abc import Mapping

TYPE_CHECKING = False  # typing and pathlib take as long to import as a kept report takes to be found
if TYPE_CHECKING:
    from pathlib import Path


def cache_folder(environ: Mapping[str, str], platform: str) -> Path | None:
    """Where this user's cache is; None where the environment does not say.

    GRADCOMPAT_CACHE, if it is set; else what the platform has for that.
    """
    from pathlib import Path

    place = cache_place(environ, platform)
    return None if place is None else Path(place)


def cache_place(environ: Mapping[str, str], platform: str) -> str | None:
    """The same as a text."""
    if environ.get("GRADCOMPAT_CACHE"):
        return environ["GRADCOMPAT_CACHE"]
    if platform == "win32":
        local, profile = environ.get("LOCALAPPDATA"), environ.get("USERPROFILE")
        folder = local or (os.path.join(profile, "AppData", "Local") if profile else None)
        return os.path.join(folder, "gradcompat", "Cache") if folder else None
    stated, user = environ.get("XDG_CACHE_HOME", ""), environ.get("HOME")
    if platform == "darwin":
        return os.path.join(user, "Library", "Caches", "gradcompat") if user else None
    if os.path.isabs(stated):  # a relative one is to be ignored, says the specification
        return os.path.join(stated, "gradcompat")
    return os.path.join(user, ".cache", "gradcompat") if user else None
