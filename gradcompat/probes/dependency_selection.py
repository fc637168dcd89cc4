"""What a release needs beside it, chosen as somebody would have had it when the release was new.

A requirement that the base already satisfies takes nothing; for any other the newest release is chosen that satisfies
it and was uploaded no later than a month after the release that asks, because a companion of years later may no longer
work with it, whatever the metadata allow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from packaging.markers import InvalidMarker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gradcompat.errors import IndexUnavailable
from gradcompat.model.release import Catalogue, Release
from gradcompat.probes.overlay_environments import Base

_GRACE = timedelta(days=30)
_DEEPEST = 40
_GLIBC = re.compile(r"manylinux_(\d{1,3})_(\d{1,3})")
_OLD_NAMES = {"manylinux1": "manylinux_2_5", "manylinux2010": "manylinux_2_12", "manylinux2014": "manylinux_2_17"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Companions:
    """What has to be laid down with a release.

    Attributes:
        releases: to lay over the base, nearest to the asking one first.
        missing: what there is not, as sentences.
        unknown: what could not be looked up, as sentences; a release that lacks it may not be what it seems.
    """

    releases: tuple[Release, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...] = ()


def companions(
    release: Release, base: Base, catalogue: Catalogue, beside: Sequence[str] = (), held: Sequence[Release] = ()
) -> Companions:
    """Choose what has to be laid down with a release.

    Args:
        release: the one that is measured.
        base: what is below.
        catalogue: where releases and their requirements are looked up.
        beside: packages that the probes need and that the release may ask for only in its extras.
        held: releases that are there in any case, also where a requirement asks for another one.
    """
    installed = {canonicalize_name(name): version for name, version in base.packages.items()}
    chosen: dict[str, Release] = {}
    missing: list[str] = []
    unknown: list[str] = []
    asked: list[tuple[Requirement, Release]] = _required(release, base, catalogue, unknown, every_extra=set(beside))
    for one in held:
        asked += _required(one, base, catalogue, unknown)
    named = {canonicalize_name(one.name) for one, _ in asked}
    settled = {release.name, *(one.name for one in held)}
    asked += [(Requirement(name), release) for name in beside if canonicalize_name(name) not in named]
    position = 0
    while position < len(asked) and len(chosen) < _DEEPEST:
        requirement, asking = asked[position]
        position += 1
        name = canonicalize_name(requirement.name)
        if name in settled or name in chosen:
            continue
        here = installed.get(name)
        if here is not None and _allows(requirement.specifier, here):
            continue
        if name == "torch":
            # The one thing that is never replaced: it is what everything is measured with.
            missing.append(f"{asking.name} {asking.version} requires {requirement}, and the base has torch {here}")
            continue
        wanted = [one for other, _ in asked if canonicalize_name(other.name) == name for one in (other.specifier,)]
        try:
            found = _newest(name, wanted, release, base, catalogue)
        except IndexUnavailable as error:
            unknown.append(f"{requirement}, which {asking.name} {asking.version} requires: {error}")
            continue
        if found is None:
            missing.append(f"no release satisfies {requirement}, which {asking.name} {asking.version} requires")
            continue
        chosen[name] = found
        asked += _required(found, base, catalogue, unknown)
    return Companions(
        releases=tuple(chosen.values()), missing=tuple(dict.fromkeys(missing)), unknown=tuple(dict.fromkeys(unknown))
    )


def _required(
    release: Release, base: Base, catalogue: Catalogue, unknown: list[str], every_extra: set[str] | None = None
) -> list[tuple[Requirement, Release]]:
    """What a release requires on the base; of its extras only what is wanted anyway."""
    try:
        lines = catalogue.requires(release)
    except IndexUnavailable as error:
        unknown.append(f"what {release.name} {release.version} requires: {error}")
        return []
    if lines is None:
        unknown.append(f"what {release.name} {release.version} requires: {catalogue.described} does not say")
        return []
    found = []
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        wanted = every_extra is not None and canonicalize_name(requirement.name) in every_extra
        if requirement.url is None and _holds(requirement, base, wanted=wanted):
            found.append((requirement, release))
    return found


def _holds(requirement: Requirement, base: Base, *, wanted: bool) -> bool:
    if requirement.marker is None:
        return True
    environment = _markers(base)
    try:
        if requirement.marker.evaluate({**environment, "extra": ""}):
            return True
        return wanted and "extra" in str(requirement.marker)
    except (InvalidMarker, UndefinedEnvironmentName):
        return False


def _markers(base: Base) -> Mapping[str, str]:
    return {
        "python_version": ".".join(base.python.split(".")[:2]),
        "python_full_version": base.python,
        "sys_platform": base.platform,
        "platform_machine": base.machine,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}.get(base.platform, base.platform),
        "os_name": "nt" if base.platform == "win32" else "posix",
        "implementation_name": "cpython" if base.implementation == "cp" else "pypy",
        "platform_python_implementation": "CPython" if base.implementation == "cp" else "PyPy",
    }


def _allows(specifier: SpecifierSet, version: str) -> bool:
    try:
        return specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def _newest(
    name: str, wanted: Sequence[SpecifierSet], asking: Release, base: Base, catalogue: Catalogue
) -> Release | None:
    fitting = [
        release
        for release in catalogue.releases(name)
        if not release.yanked
        and not release.version.is_prerelease
        and fits(release, base)
        and _all(wanted, release.version)
    ]
    latest = _moment(asking.uploaded)
    if latest is not None:
        early = [
            release
            for release in fitting
            if (moment := _moment(release.uploaded)) is not None and moment <= latest + _GRACE
        ]
        if early:
            return early[-1]
        return fitting[0] if fitting else None
    return fitting[-1] if fitting else None


def _all(specifiers: Sequence[SpecifierSet], version: Version) -> bool:
    return all(specifier.contains(version, prereleases=True) for specifier in specifiers)


def fits(release: Release, base: Base) -> bool:
    """Can it be laid over the base: is there a wheel for it, or none for anybody, and is its Python the right one?"""
    try:
        if release.requires_python is not None and base.python not in SpecifierSet(release.requires_python):
            return False
    except InvalidSpecifier:
        return False
    if not release.wheels:
        return release.sdist
    major, minor = (int(part) for part in base.python.split(".")[:2])
    interpreters = {str(tag).rpartition("-")[0] for tag in cpython_tags((major, minor), platforms=["any"])}
    interpreters |= {str(tag).rpartition("-")[0] for tag in compatible_tags((major, minor), platforms=["any"])}
    return any(_fits(wheel, interpreters, base) for wheel in release.wheels)


def _fits(wheel: str, interpreters: set[str], base: Base) -> bool:
    python, abi, platforms = [*wheel.split("-"), "", ""][:3]
    known = any(f"{one}-{other}" in interpreters for one in python.split(".") for other in abi.split("."))
    return known and any(_runs(one, base) for one in platforms.split("."))


def _runs(platform: str, base: Base) -> bool:
    if platform == "any":
        return True
    if not platform.endswith((base.machine, base.machine.lower(), "universal2")):
        return False
    if base.platform != "linux":
        return platform.startswith({"darwin": "macosx", "win32": "win"}.get(base.platform, base.platform))
    if base.glibc is None:
        return platform.startswith(("musllinux", "linux"))
    found = _GLIBC.match(_OLD_NAMES.get(platform.partition("_")[0], platform))
    return platform.startswith("linux") or (
        found is not None and (int(found[1]), int(found[2])) <= _numbers(base.glibc)
    )


def _numbers(glibc: str) -> tuple[int, ...]:
    return tuple(int(part) for part in glibc.split(".")[:2] if part.isdigit())


def _moment(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text[:10])
    except ValueError:
        return None
