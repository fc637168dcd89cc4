"""The state of the knowledge as tables of words, for text and for Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradcompat.messages import counted
from gradcompat.model.knowledge_state import KnowledgeState, PackageState


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a head; the first column is a name, and numbers stand at the right where ``numbers`` says so."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


def summary(state: KnowledgeState) -> str:
    """All of it in one sentence."""
    levels = ", ".join(counted(number, level) for level, number in state.levels.items())
    gone = f", {state.withdrawn} withdrawn" if state.withdrawn else ""
    return (
        f"{counted(state.records, 'record')} of {state.date}{gone}: {levels}; {state.silent} silent; "
        f"{state.checked} checked independently; {state.probed} with a probe, {state.measured} with a verdict of it "
        f"among {counted(state.rows, 'measurement')}"
    )


def tables(state: KnowledgeState) -> tuple[Table, ...]:
    """What is counted, the packages, and what was not checked."""
    bases = tuple(state.bases)
    packages = tuple(_package(package, bases) for package in state.packages)
    unchecked = tuple((unchecked.record, unchecked.basis, "; ".join(unchecked.bounds)) for unchecked in state.unchecked)
    return (
        Table("By basis", ("basis", "records"), _rows(state.bases), frozenset({1})),
        Table("By category", ("category", "records"), _rows(state.categories), frozenset({1})),
        Table(
            "By package",
            ("package", "records", "silent", *bases, "probed", "horizon", "of", "days", "unfixed", "not seen there"),
            packages,
            frozenset({*range(1, len(bases) + 4), len(bases) + 6, len(bases) + 7}),
        ),
        Table("Bounds never checked", ("record", "basis", "bounds"), unchecked),
    )


def _rows(counts: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    return tuple((word, str(number)) for word, number in counts.items())


def _package(one: PackageState, bases: tuple[str, ...]) -> tuple[str, ...]:
    return (
        one.name,
        str(one.records),
        str(one.silent),
        *(str(one.bases.get(basis, "")) for basis in bases),
        str(one.probed),
        one.horizon or "",
        one.date or "",
        "" if one.age is None else str(one.age),
        str(len(one.unfixed)),
        ", ".join(one.unseen),
    )
