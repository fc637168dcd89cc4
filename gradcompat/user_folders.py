"""Where a user's files are on each platform: what can be fetched again, and what is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str], platform: str) -> Path | None:
    """Where this user's cache is; None where the environment does not say.

    GRADCOMPAT_CACHE, if it is set; else what the platform has for that.

    Args:
        environ: variables of the environment.
        platform: as ``sys.platform`` has it.
    """
    return _folder("CACHE", environ, platform, windows="Cache", mac="Caches", home=".cache")


def data_folder(environ: Mapping[str, str], platform: str) -> Path | None:
    """Where this user's data are; None where the environment does not say.

    GRADCOMPAT_DATA, if it is set; else what the platform has for that.

    Args:
        environ: variables of the environment.
        platform: as ``sys.platform`` has it.
    """
    return _folder("DATA", environ, platform, windows="Data", mac="Application Support", home=".local/share")


def _folder(name: str, environ: Mapping[str, str], platform: str, *, windows: str, mac: str, home: str) -> Path | None:
    if environ.get(f"GRADCOMPAT_{name}"):
        return Path(environ[f"GRADCOMPAT_{name}"])
    if platform == "win32":
        local, profile = environ.get("LOCALAPPDATA"), environ.get("USERPROFILE")
        folder = Path(local) if local else Path(profile, "AppData", "Local") if profile else None
        return folder / "gradcompat" / windows if folder is not None else None
    stated, user = environ.get(f"XDG_{name}_HOME", ""), environ.get("HOME")
    if platform == "darwin":
        return Path(user, "Library", mac, "gradcompat") if user else None
    if os.path.isabs(stated):  # a relative one is to be ignored, says the specification
        return Path(stated, "gradcompat")
    return Path(user, home, "gradcompat") if user else None
