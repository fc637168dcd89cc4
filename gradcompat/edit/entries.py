"""Which of the places that speak of a package move: not all have to, where a package stands several times.

A file names a package again for another platform, in another group, behind another marker. What allows the version
that is there moves. What does not is about another environment, and stays; unless nothing in the file allows that
version or holds the new one already: then the file and the environment disagree, and everything moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gradcompat.edit.pins import Outcome, PinEdit
from gradcompat.edit.specifier_clauses import Dialect
from gradcompat.edit.specifiers import allows_old, is_settled, moved
from gradcompat.errors import EditError

_MAX_PLACES = 1000  # of one package in one file; the most that is known today is 151


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One place that asks for a package.

    Attributes:
        pin: how the package shall move.
        specifier: what the place allows.
        where: the place in words: "line 3", "`project.dependencies[2]`".
        dialect: what the specifier is written in.
        blocked: why it cannot be changed, if it should have to be.
    """

    pin: PinEdit
    specifier: str
    where: str
    dialect: Dialect = "pep440"
    blocked: str | None = None


class Decision(NamedTuple):
    """An entry, by its place among those that were asked about, and its new specifier."""

    entry: int
    specifier: str


def decided(entries: Sequence[Entry], outcome: Outcome) -> list[Decision]:
    """The entries that change, in their order; what becomes of the others is noted in ``outcome``."""
    by_package: dict[str, list[int]] = {}
    for index, entry in enumerate(entries):
        by_package.setdefault(entry.pin.package, []).append(index)
    decisions = [decision for indices in by_package.values() for decision in _of_one_package(entries, indices, outcome)]
    return sorted(decisions)


def _of_one_package(entries: Sequence[Entry], indices: Sequence[int], outcome: Outcome) -> list[Decision]:
    if len(indices) > _MAX_PLACES:
        package = entries[indices[0]].pin.package
        outcome.leave(package, f"appears in {len(indices):,} places, which is too many to edit")
        return []
    settled: list[int] = []
    old: list[int] = []
    others: list[int] = []
    for index in indices:
        entry = entries[index]
        try:
            if is_settled(entry.specifier, entry.pin, entry.dialect):
                settled.append(index)
            elif allows_old(entry.specifier, entry.pin, entry.dialect):
                old.append(index)
            else:
                others.append(index)
        except EditError as error:
            outcome.leave(entry.pin.package, f"{entry.where}: {error}")
    if not settled and not old:
        old, others = others, []
    for index in settled:
        outcome.settle(entries[index].pin.package)
    for index in others:
        entry = entries[index]
        reason = f"`{entry.specifier.strip()}` does not allow {entry.pin.version_from} and stays"
        outcome.leave(entry.pin.package, f"{entry.where}: {reason}")
    decisions = []
    for index in old:
        entry = entries[index]
        if entry.blocked is not None:
            outcome.leave(entry.pin.package, f"{entry.where}: {entry.blocked}")
            continue
        result = moved(entry.specifier, entry.pin, entry.dialect)
        outcome.settle(entry.pin.package)
        for note in result.notes:
            outcome.note(note)
        decisions.append(Decision(index, result.specifier))
    return decisions
