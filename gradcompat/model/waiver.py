"""Waivers: findings that somebody has accepted, for a reason, and as long as what they were accepted for holds."""

from __future__ import annotations

from gradcompat.model.environment import Location
from gradcompat.model.issue import Level
from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionBound:
    """A package, and the versions of it for which a waiver holds; ``text`` is how they are written."""

    name: str
    text: str
    versions: VersionSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """One waiver as it is written.

    Attributes:
        id: of the record.
        reason: why the finding is accepted.
        until: the last day on which it is, as ``2026-12-31``; None for no such day.
        packages: versions that the environment has to have.
        path: a pattern as in a .gitignore, of the files whose findings it is about; None for all.
        proof: a file with the result of a probe that did not reproduce the defect, beside the waiver's own file.
        location: where it stands.
        folder: of its file, which ``path`` and ``proof`` are relative to.
    """

    id: str
    reason: str
    until: str | None = None
    packages: tuple[VersionBound, ...] = ()
    path: str | None = None
    proof: str | None = None
    location: Location
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waivers:
    """All waivers of a project, and how loudly each kind of lapse is said; None for not at all."""

    waivers: tuple[Waiver, ...] = ()
    expired: Level | None = "warning"
    unknown: Level | None = "warning"
    unproved: Level | None = "warning"
    unused: Level | None = "warning"
