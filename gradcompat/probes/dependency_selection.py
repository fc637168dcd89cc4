"""What a release needs beside it, chosen as somebody would have had it when the release was new.

A requirement that the base already satisfies takes nothing; for any other the newest release is chosen that satisfies
it and was uploaded no later than a month after the release that asks, because a companion of years later may no longer
work with it, whatever the metadata allow. Who asks what an install of today brings gets the newest of all.

A companion that excludes the release gives way to an older one, and a choice that a later requirement excludes is made
again.
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
_DEEPEST = 60
_MOST_TRIES = 40
# Libraries for GPUs, gigabytes of them, that torch brings if it was built with them.
_OF_TORCH = re.compile(r"(?:nvidia|cuda)-")
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
    release: Release,
    base: Base,
    catalogue: Catalogue,
    beside: Sequence[str] = (),
    held: Sequence[Release] = (),
    *,
    current: bool = False,
) -> Companions:
    """Choose what has to be laid down with a release.

    Args:
        release: the one that is measured.
        base: what is below.
        catalogue: where releases and their requirements are looked up.
        beside: packages that the probes need and that the release may ask for only in its extras.
        held: releases that are there in any case, also where a requirement asks for another one.
        current: choose what an install of today brings, whenever the release was new.
    """
    allowed: dict[str, list[SpecifierSet]] = {}
    choice = _Choice(release, base, catalogue, beside, held, allowed, current=current)
    for _ in range(_MOST_TRIES):
        conflict = choice.conflict()
        if conflict is None:
            break
        name, narrower = conflict
        allowed.setdefault(name, []).append(narrower)
        choice = _Choice(release, base, catalogue, beside, held, allowed, current=current)
    return choice.companions()


class _Choice:
    """One choice of companions, each as its requirements were known when its turn came."""

    def __init__(
        self,
        release: Release,
        base: Base,
        catalogue: Catalogue,
        beside: Sequence[str],
        held: Sequence[Release],
        allowed: Mapping[str, Sequence[SpecifierSet]],
        *,
        current: bool,
    ) -> None:
        """Choose, of the packages with something ``allowed`` only that."""
        self._release = release
        self._chosen: dict[str, Release] = {}
        self._missing: list[str] = []
        self._unknown: list[str] = []
        self._asked = _required(release, base, catalogue, self._unknown, every_extra=set(beside))
        for one in held:
            self._asked += _required(one, base, catalogue, self._unknown)
        named = {canonicalize_name(one.name) for one, _ in self._asked}
        self._asked += [(Requirement(name), release) for name in beside if canonicalize_name(name) not in named]
        installed = {canonicalize_name(name): version for name, version in base.packages.items()}
        settled = {release.name, *(one.name for one in held)}
        for requirement, asking in self._asked:  # which grows
            if len(self._chosen) >= _DEEPEST:
                break
            name = canonicalize_name(requirement.name)
            if name in settled or name in self._chosen:
                continue
            here = installed.get(name)
            if here is not None and all(_allows(one, here) for one in (requirement.specifier, *allowed.get(name, ()))):
                continue
            said = f"{requirement}, which {asking.name} {asking.version} requires"
            if name == "torch":
                # The one thing that is never replaced: it is what everything is measured with.
                self._missing.append(
                    f"{asking.name} {asking.version} requires {requirement}, and the base has torch {here}"
                )
                continue
            wanted = [other.specifier for other, _ in self._asked if canonicalize_name(other.name) == name]
            wanted += allowed.get(name, ())
            try:
                found = _newest(name, wanted, None if current else release.uploaded, base, catalogue)
            except IndexUnavailable as error:
                self._unknown.append(f"{said}: {error}")
                continue
            if found is None:
                beyond = " beside the others" if name in allowed else ""
                self._missing.append(f"no release satisfies {said}{beyond}")
                continue
            if _OF_TORCH.match(name) and not any(wheel.endswith("-any") for wheel in found.wheels):
                self._missing.append(f"{said}, comes with torch or not at all")
                continue
            self._chosen[name] = found
            self._asked += _required(found, base, catalogue, self._unknown)

    def companions(self) -> Companions:
        """What was chosen, and what there is not."""
        return Companions(
            releases=tuple(self._chosen.values()),
            missing=tuple(dict.fromkeys(self._missing)),
            unknown=tuple(dict.fromkeys(self._unknown)),
        )

    def conflict(self) -> tuple[str, SpecifierSet] | None:
        """A package of which another release has to be chosen, and what else it has to satisfy."""
        for requirement, asking in self._asked:
            name = canonicalize_name(requirement.name)
            found = self._chosen.get(name)
            if found is not None and not _allows(requirement.specifier, str(found.version)):
                return name, requirement.specifier
            if (
                name == self._release.name
                and self._chosen.get(asking.name) == asking
                and not _allows(requirement.specifier, str(self._release.version))
            ):
                return asking.name, SpecifierSet(f"!={asking.version}")
        return None


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
    name: str, wanted: Sequence[SpecifierSet], uploaded: str | None, base: Base, catalogue: Catalogue
) -> Release | None:
    """The newest release that satisfies all that is wanted; of the days of an upload, if one is given."""
    fitting = [
        release
        for release in catalogue.releases(name)
        if not release.yanked
        and not release.version.is_prerelease
        and fits(release, base)
        and _all(wanted, release.version)
    ]
    latest = _moment(uploaded)
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
