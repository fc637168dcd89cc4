"""Releases of packages by the snapshot that ships with gradcompat: a check asks no index."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.model.environment import Package
from gradcompat.versions import VersionSet, parse_version

if TYPE_CHECKING:
    from gradcompat.index.snapshot import Snapshot

_LONGEST_SPECIFIER = 2_000


@lru_cache(maxsize=256)
def published(name: str, *, python: str | None) -> tuple[Version, ...]:
    """The final releases of a package, oldest first, that are not withdrawn and fit the Python."""
    interpreter = None if python is None else parse_version(python)
    try:
        releases = snapshot().releases(name)
    except IndexUnavailable:
        return ()
    return tuple(
        release.version
        for release in releases
        if not release.yanked and not release.version.is_prerelease and _fits(release.requires_python, interpreter)
    )


def allowed(package: Package, name: str, *, python: str | None) -> tuple[str, ...]:
    """The final releases that a range allows, oldest first; nothing where that cannot be said.

    Args:
        package: an entry without a version.
        name: its canonical name.
        python: the interpreter, if it is known.
    """
    specifier = package.specifier or ""
    if package.version is not None or package.source != "registry" or len(specifier) > _LONGEST_SPECIFIER:
        return ()
    try:
        versions = VersionSet.parse(specifier) if specifier not in ("", "*") else None
    except ValueError:
        return ()
    releases = sorted(published(name, python=python))
    return tuple(str(release) for release in releases if versions is None or release in versions)


@lru_cache(maxsize=1)
def snapshot() -> Snapshot:
    """The snapshot that ships with gradcompat, read once.

    Raises:
        IndexUnavailable: if it is missing or damaged.
    """
    # Only what is affected, or a range, asks for it.
    from gradcompat.index.snapshot import Snapshot

    return Snapshot()


@lru_cache(maxsize=1024)
def _fits(requires_python: str | None, interpreter: Version | None) -> bool:
    """Is the interpreter one of those? What cannot be read excludes none."""
    if requires_python is None or interpreter is None:
        return True
    try:
        return interpreter in VersionSet.parse(requires_python)
    except ValueError:
        return True
