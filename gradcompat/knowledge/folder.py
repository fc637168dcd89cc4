"""Where fetched knowledge lies on this machine."""

from __future__ import annotations

from pathlib import Path

_USER = "user"


def stored_path(folder: Path, project_url: str | None) -> Path:
    """The file of a user, or of the projects that name a URL in their configuration.

    What a project asks for is kept apart: a strange project that is checked once must not say what all others know.
    """
    name = _USER
    if project_url is not None:
        import hashlib  # loads OpenSSL, which a check without such a project does not need

        name = hashlib.sha256(project_url.encode("utf-8", "replace")).hexdigest()[:16]
    return folder / "knowledge" / f"{name}.signed"
