"""What new releases of a package change: which ranges their measurements contradict, and what nobody has measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version

from gradcompat.knowledge.evidence import contradictions, explained
from gradcompat.knowledge.horizon import unfixed_by_package
from gradcompat.knowledge.ranges import verdicts_of
from gradcompat.model.issue import Issue, PackageTerm
from gradcompat.model.probe import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """The records of one package after its new releases were measured.

    Attributes:
        contradicted: what a measurement says otherwise than the ranges → ids of the records that it speaks of.
        stands: ids of records of which a probe is reproduced in the newest release, as they say.
        right: those of which no probe is, as they say.
        undecided: those with a probe that gave no verdict there.
        unread: those without a probe that no release is known to end: somebody has to look.
    """

    contradicted: Mapping[str, tuple[str, ...]]
    stands: tuple[str, ...]
    right: tuple[str, ...]
    undecided: tuple[str, ...]
    unread: tuple[str, ...]


def refreshed(name: str, newest: Version, issues: Sequence[Issue], rows: Iterable[Row]) -> Refreshed:
    """Hold the records of a package against what was measured in its new releases.

    Args:
        name: of the package, as records have it.
        newest: the newest of the releases.
        issues: all that are in force.
        rows: of the new releases of this package, with nothing that was held beside them.
    """
    measured = {name: list(rows)}
    ranges = explained(issues)
    contradicted: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {"stands": [], "right": [], "undecided": []}
    for issue in issues:
        if not speaks_of(issue, name):
            continue
        found = list(contradictions(issue, measured, ranges))
        for sentence in found:
            contradicted.setdefault(sentence, []).append(issue.id)
        if issue.probes and not found:
            outcomes = [verdicts_of(measured[name], probe).get(newest) for probe in issue.probes]
            groups[_group(outcomes)].append(issue.id)
    unread = [issue.id for issue in unfixed_by_package(issues).get(name, ()) if not issue.probes]
    return Refreshed(
        contradicted={sentence: tuple(ids) for sentence, ids in contradicted.items()},
        stands=tuple(groups["stands"]),
        right=tuple(groups["right"]),
        undecided=tuple(groups["undecided"]),
        unread=tuple(unread),
    )


def _group(outcomes: Sequence[Outcome | None]) -> str:
    if "reproduced" in outcomes:
        return "stands"
    return "right" if all(outcome == "not_reproduced" for outcome in outcomes) else "undecided"


def speaks_of(issue: Issue, name: str) -> bool:
    """Does a record ask for versions of this package?"""
    return any(
        isinstance(term, PackageTerm) and term.name == name
        for combination in issue.affected
        for term in combination.terms
    )
