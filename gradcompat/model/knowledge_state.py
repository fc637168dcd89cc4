"""The state of the knowledge: what there is, how it is known, and what nobody has checked."""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageState:
    """The records that ask for versions of one package.

    Attributes:
        name: as records have it.
        records: how many there are.
        silent: how many of them nothing announces.
        bases: how their bounds are known → how many.
        probed: how many have a probe.
        horizon: the newest release that was looked at; None if that is not known.
        date: when.
        age: days since then.
        unfixed: ids of those that no release is known to end.
        unseen: those of them that neither a measurement nor an example shows in the horizon's release.
    """

    name: str
    records: int
    silent: int
    bases: Mapping[str, int]
    probed: int
    horizon: str | None
    date: str | None
    age: int | None
    unfixed: tuple[str, ...]
    unseen: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchecked:
    """A record with bounds that nobody has checked.

    Attributes:
        record: its id.
        basis: how it says that they are known.
        bounds: which, in words.
    """

    record: str
    basis: str
    bounds: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeState:
    """All of it.

    Attributes:
        date: of the records.
        records: how many are in force.
        withdrawn: how many are not.
        silent: how many of those in force nothing announces.
        levels: level → how many.
        bases: how bounds are known → how many.
        categories: category → how many; a record may be in several.
        probed: how many records have a probe.
        measured: how many have a verdict of one of their probes among the measurements.
        checked: how many were checked independently, by other code than their authors'.
        rows: how many measurements there are.
        packages: one for each package, those with the most records first.
        unchecked: in the order of the ids.
    """

    date: str
    records: int
    withdrawn: int
    silent: int
    levels: Mapping[str, int]
    bases: Mapping[str, int]
    categories: Mapping[str, int]
    probed: int
    measured: int
    checked: int
    rows: int
    packages: tuple[PackageState, ...]
    unchecked: tuple[Unchecked, ...]
