"""Findings that do not count: waived, in a baseline, or there before a change. They leave ``findings`` and stay told.

What moves them is one or several judgements over all audits of a run; the first one that speaks of a finding counts.
What does not apply, or was measured not to be there, does not count anyway and is not set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gradcompat.model.report import Audit, Remark, ReportedFinding, Suppression

Judge = Callable[[Audit, ReportedFinding], Suppression | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionRules:
    """What is to be set aside, and what there is to say of the file that says so.

    Attributes:
        judge: why a finding of an audit does not count; None if it does.
        remarks: about the waivers or the baseline, not about a finding.
    """

    judge: Judge
    remarks: tuple[Remark, ...] = ()


RuleBuilder = Callable[
    [Sequence[Audit]], SuppressionRules
]  # sees all audits, as they were before anything was set aside


def suppress(audits: Sequence[Audit], judges: Sequence[Judge]) -> list[Audit]:
    """The audits with each finding that a judge speaks of moved to ``suppressed``, in the same order."""
    return [_divided(audit, judges) for audit in audits] if judges else list(audits)


def _divided(audit: Audit, judges: Sequence[Judge]) -> Audit:
    kept: list[ReportedFinding] = []
    aside: list[ReportedFinding] = []
    for advised in audit.findings:
        counts = advised.finding.status != "not_affected" and not advised.refuted
        suppression = _first(audit, advised, judges) if counts else None
        if suppression is None:
            kept.append(advised)
        else:
            aside.append(replace(advised, suppressed=suppression))
    return replace(audit, findings=tuple(kept), suppressed=(*audit.suppressed, *aside)) if aside else audit


def _first(audit: Audit, advised: ReportedFinding, judges: Sequence[Judge]) -> Suppression | None:
    return next((said for judge in judges if (said := judge(audit, advised)) is not None), None)
