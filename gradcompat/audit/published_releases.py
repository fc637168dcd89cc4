"""Releases of packages by the snapshot that ships with gradcompat: a check asks no index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.model.environment import Package
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.startup.lazy_patterns import lazy_pattern

if TYPE_CHECKING:
    from gradcompat.index.snapshot import Snapshot

_LONGEST_SPECIFIER = 2_000
_TRIED = 60  # releases whose requirements are compared with the pins
_UNCONDITIONAL = lazy_pattern(r"(?P<name>[A-Za-z0-9._-]+)\s*\(?(?P<specifier>[<>=!~][^;()]*)\)?")


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


def allowed(
    package: Package,
    name: str,
    *,
    python: str | None,
    pins: Mapping[str, Version] | None = None,
    others: Mapping[str, Version] | None = None,
) -> tuple[str, ...]:
    """The final releases that a range allows, oldest first; nothing where that cannot be said.

    A trunk is judged by the newest one, and what is built from a commit is no release. Newer ones than the newest that
    goes with the pins, and those that a pin does not allow, are left out: a resolver would not take them.

    Args:
        package: an entry without a version.
        name: its canonical name.
        python: the interpreter, if it is known.
        pins: packages of which one version is listed.
        others: the newest releases of other ranges, which are resolved together with this one.
    """
    specifier = package.specifier or ""
    if package.trunk:
        return tuple(map(str, sorted(published(name, python=python))[-1:]))
    named = package.version is not None or package.unreleased or package.source != "registry"
    if named or len(specifier) > _LONGEST_SPECIFIER:
        return ()
    try:
        versions = VersionSet.parse(specifier) if specifier not in ("", "*") else None
    except ValueError:
        return ()
    releases = [
        version for version in sorted(published(name, python=python)) if versions is None or version in versions
    ]
    releases = [version for version in releases if _is_let_in(version, _required_of(name, pins or {}))] or releases
    required = _required_of(name, others or {})
    newest_of_all = next((one for one in reversed(releases) if _is_let_in(one, required)), None)
    if newest_of_all is not None:
        releases = releases[: releases.index(newest_of_all) + 1]
    for newest in range(len(releases), max(0, len(releases) - _TRIED), -1):
        if _goes_with(name, releases[newest - 1], pins or {}):
            return tuple(map(str, releases[:newest]))
    return tuple(map(str, releases))


def _required_of(name: str, listed: Mapping[str, Version]) -> list[str]:
    """What the unconditional requirements of some releases allow of a package."""
    return [
        specifier
        for other, version in listed.items()
        if other != name
        for required, specifier in _unconditional(other, version)
        if required == name
    ]


def _is_let_in(version: Version, required: Sequence[str]) -> bool:
    return all(_within(version, specifier) for specifier in required)


def _goes_with(name: str, version: Version, pins: Mapping[str, Version]) -> bool:
    """Do the unconditional requirements of a release allow what is pinned?"""
    return not pins or next(refused(name, version, pins), None) is None


def refused(name: str, version: Version, pins: Mapping[str, Version]) -> Iterator[tuple[str, str]]:
    """The pinned packages that the unconditional requirements of a release do not allow, with what they allow."""
    for required, specifier in _unconditional(name, version):
        if required in pins and not _within(pins[required], specifier):
            yield required, specifier


@lru_cache(maxsize=1024)
def _unconditional(name: str, version: Version) -> tuple[tuple[str, str], ...]:
    """The packages that a release requires whatever the extras and the host, with what it allows of each."""
    read = (_UNCONDITIONAL.fullmatch(line) for line in _requirements(name, version))
    return tuple((normalise(found["name"]), found["specifier"].strip()) for found in read if found is not None)


@lru_cache(maxsize=4096)
def _within(version: Version, specifier: str) -> bool:
    try:
        return version in VersionSet.parse(specifier)
    except ValueError:
        return True


@lru_cache(maxsize=4096)
def _requirements(name: str, version: Version) -> tuple[str, ...]:
    try:
        release = next((release for release in snapshot().releases(name) if release.version == version), None)
        return () if release is None else snapshot().requires(release) or ()
    except IndexUnavailable:
        return ()


def snapshot() -> Snapshot:
    """The snapshot that ships with gradcompat.

    Raises:
        IndexUnavailable: if it is missing or damaged.
    """
    # Only what is affected, or a range, asks for it.
    from gradcompat.index.snapshot import shipped_snapshot

    return shipped_snapshot()


@lru_cache(maxsize=1024)
def _fits(requires_python: str | None, interpreter: Version | None) -> bool:
    """Is the interpreter one of those? What cannot be read excludes none."""
    if requires_python is None or interpreter is None:
        return True
    try:
        return interpreter in VersionSet.parse(requires_python)
    except ValueError:
        return True
