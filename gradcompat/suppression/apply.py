"""Findings that do not count: waived, in a baseline, or there before a change. They leave ``findings`` and stay told.

What moves them is one or several judgements over all audits of a run; the first one that applies to a finding counts.
What does not apply, is dormant or was measured not to be there does not count anyway and is not set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradcompat.model.report import Audit, Remark, ReportedFinding, Suppression
from gradcompat.startup.lazy_dataclasses import dataclass, replace

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
    """The audits, with each finding that a judge suppresses moved to ``suppressed``, in the same order."""
    return [_divided(audit, judges) for audit in audits] if judges else list(audits)


def _divided(audit: Audit, judges: Sequence[Judge]) -> Audit:
    kept: list[ReportedFinding] = []
    aside: list[ReportedFinding] = []
    for reported in audit.findings:
        counts = reported.finding.status not in ("dormant", "not_affected") and not reported.refuted
        suppression = _first(audit, reported, judges) if counts else None
        if suppression is None:
            kept.append(reported)
        else:
            aside.append(replace(reported, suppressed=suppression))
    return replace(audit, findings=tuple(kept), suppressed=(*audit.suppressed, *aside)) if aside else audit


def _first(audit: Audit, reported: ReportedFinding, judges: Sequence[Judge]) -> Suppression | None:
    return next((suppression for judge in judges if (suppression := judge(audit, reported)) is not None), None)
