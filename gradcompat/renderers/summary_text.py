"""The summary of a report, the same in every format: what is sure, what could apply, what is dormant."""

from __future__ import annotations

from collections import Counter

from gradcompat.messages import counted, joined
from gradcompat.model.issue import LEVELS
from gradcompat.model.report import Report
from gradcompat.renderers.sources_text import sources_text

MANY = 16  # environments, from which on each is told in fewer words


def summary(report: Report) -> str:
    """``1 error, 3 could apply, 2 not checked (184 records of 2026-11-20)``."""
    if all(audit.kind is None for audit in report.audits):
        return "nothing could be read"
    if not any(audit.packages for audit in report.audits):
        return "nothing was checked"
    levels = Counter(finding.finding.issue.level for finding in report.findings if finding.finding.status == "affected")
    # Records, and not findings: in every environment of a folder it is the same question.
    open_ones = {
        finding.finding.issue.id
        for finding in report.findings
        if finding.finding.status == "conditional" and not finding.refuted
    }
    sure = {finding.finding.issue.id for finding in report.findings if finding.finding.status == "affected"}
    unused = {finding.finding.issue.id for finding in report.findings if finding.finding.status == "dormant"}
    possible, dormant = len(open_ones - sure), len(unused - open_ones - sure)
    gaps = sum(1 for audit in report.audits for skipped in audit.skipped if skipped.gap)
    parts = [counted(levels[level], level) for level in reversed(LEVELS) if levels[level]]
    changed = any(audit.replaced for audit in report.audits)
    if changed:
        parts = _brought(parts, report)
    else:
        none = "no other known defect" if report.suppressed else "no known defect"
        parts = parts or [f"{none} is sure to apply" if possible else f"{none} found"]
    if possible:
        parts.append(f"{possible} {'more ' if changed else ''}could apply")
    if dormant:
        parts.append(f"{dormant} for features that are not used")
    if gaps:
        parts.append(f"{gaps} not checked")
    if len(report.audits) >= MANY:
        parts[-1] += f", in {counted(len(report.audits), 'environment')}"
    return f"{', '.join(parts)} ({sources_text(report.records, report.date, report.sources)})"


def _brought(levels: list[str], report: Report) -> list[str]:
    """What a change of versions brings, what it cures, and what is there with and without it."""
    parts = [f"{joined(tuple(levels), 'and')} would come" if levels else "no known defect would come"]
    if cured := sum(len(audit.cured) for audit in report.audits):
        parts.append(f"{cured} would be cured")
    stay = sum(
        1
        for finding in report.suppressed
        if finding.suppressed is not None
        and finding.suppressed.kind == "pinned"
        and finding.finding.status == "affected"
    )
    return [*parts, f"{stay} would stay"] if stay else parts
