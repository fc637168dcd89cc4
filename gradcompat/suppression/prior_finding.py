"""What was found before, in a baseline or an earlier revision, and whether a finding of now is more than that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradcompat.model.finding import Finding, Status
from gradcompat.model.issue import ModelTerm, SettingTerm, SymbolAbsentTerm, SymbolTerm
from gradcompat.model.report import ReportedFinding
from gradcompat.terms.term_keys import asks_for_use

_OF_A_RUN = (SettingTerm, ModelTerm, SymbolTerm, SymbolAbsentTerm)


@dataclass(frozen=True, slots=True)
class PriorFinding:
    """One finding of then.

    Attributes:
        weight: how sure it was.
        runs: the training runs that it was found in; empty where none was looked at.
    """

    weight: int
    runs: frozenset[str]


def weight(status: Status, *, refuted: bool, informational: bool) -> int:
    """A number that is larger for a finding that says more: nothing, refuted, possible or worth knowing, affected."""
    if status in ("dormant", "not_affected"):
        return 0
    if refuted:
        return 1
    return 2 if status == "conditional" or informational else 3


def weight_of(advised: ReportedFinding) -> int:
    """The weight of a finding of now."""
    finding = advised.finding
    return weight(finding.status, refuted=advised.refuted, informational=finding.issue.informational)


def is_known(advised: ReportedFinding, before: PriorFinding | None, run: Callable[[str], str]) -> bool:
    """Was it found before, as surely as now and in the same training runs?

    A condition that turned out to hold is new, and so is a run that newly has a setting that the defect needs. Where
    no run was looked at, what was affected was affected in all of them.
    """
    if before is None or weight_of(advised) > before.weight:
        return False
    if advised.finding.status != "affected" or not before.runs or not _hangs_on_a_run(advised.finding):
        return True
    return before.runs.issuperset(map(run, advised.finding.contexts))


def _hangs_on_a_run(finding: Finding) -> bool:
    return any(isinstance(term, _OF_A_RUN) and not asks_for_use(term) for term in finding.terms)
