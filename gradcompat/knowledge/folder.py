"""Where fetched knowledge lies on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_USER = "user"


def data_folder(environ: Mapping[str, str], platform: str) -> Path | None:
    """Where this user's data are; None where the environment does not say.

    GRADCOMPAT_DATA, if it is set; else what the platform has for that.

    Args:
        environ: variables of the environment.
        platform: as ``sys.platform`` has it.
    """
    if environ.get("GRADCOMPAT_DATA"):
        return Path(environ["GRADCOMPAT_DATA"])
    if platform == "win32":
        local, home = environ.get("LOCALAPPDATA"), environ.get("USERPROFILE")
        folder = Path(local) if local else Path(home, "AppData", "Local") if home else None
        return folder / "gradcompat" / "Data" if folder is not None else None
    stated, home = environ.get("XDG_DATA_HOME", ""), environ.get("HOME")
    if platform == "darwin":
        return Path(home, "Library", "Application Support", "gradcompat") if home else None
    if os.path.isabs(stated):  # a relative one is to be ignored, says the specification
        return Path(stated, "gradcompat")
    return Path(home, ".local", "share", "gradcompat") if home else None


def stored_path(folder: Path, project_url: str | None) -> Path:
    """The file of a user, or of the projects that name a URL in their configuration.

    What a project asks for is kept apart: a strange project that is checked once must not say what all others know.
    """
    name = _USER
    if project_url is not None:
        import hashlib  # loads OpenSSL, which a check without such a project does not need

        name = hashlib.sha256(project_url.encode("utf-8", "replace")).hexdigest()[:16]
    return folder / "knowledge" / f"{name}.signed"
