"""Packages that records speak of and whose version is not there to be compared."""

from __future__ import annotations

from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import ONLY_RANGE
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.requirements.versions import parse_version

_OWN_PROJECT = frozenset({"editable", "virtual", "directory", "path"})


def missing_versions(environment: Environment, base: KnowledgeBase, *, strict: bool) -> list[Skipped]:
    """What is said of each package that records speak of and whose version is not there to be compared.

    A range is judged by the newest release that it allows, and is no gap unless ``strict``.
    """
    gaps = [
        Skipped(
            what=package.name,
            reason=_missing(package),
            gap=strict or not _is_range(package),
            range=_is_range(package),
            newest=package.releases[-1] if _is_range(package) and package.releases else None,
            location=package.location,
        )
        for package in environment.packages
        if package.source not in _OWN_PROJECT
        and (package.version is None or parse_version(package.version) is None)
        and base.knows(base.names.canonical(package))
    ]
    if not environment.packages and not any(skipped.gap for skipped in environment.skipped):
        where = Location(path=environment.source)
        reason = "lists no packages: nothing was checked"
        gaps.append(Skipped(what=environment.source, reason=reason, location=where, empty=True))
    return gaps


def _is_range(package: Package) -> bool:
    return package.version is None and not package.malformed_version


def _missing(package: Package) -> str:
    if package.version is not None:
        return f"`{package.version}` is not a version"
    if package.malformed_version:
        return "its version is not one"
    if package.unreleased and package.specifier is not None:
        return f"a build of a commit, {package.specifier}"
    what = "no version is given" if package.specifier is None else ONLY_RANGE
    return f"{what}; {package.releases[-1]} is the newest release that is allowed" if package.releases else what
