"""The exit status that audits come to."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.audit.options import AuditOptions
from gradcompat.model.issue import LEVELS
from gradcompat.model.report import Audit


def exit_status(audits: Sequence[Audit], options: AuditOptions) -> int:
    """0 clean, 1 findings, 2 nothing could be read, 3 something could not be checked."""
    if audits and all(audit.kind is None for audit in audits):
        return 2
    statuses = {"affected", "conditional"} if options.strict else {"affected"}
    if options.fail_on is not None:
        least = LEVELS.index(options.fail_on)
        for audit in audits:
            for advised in audit.findings:
                finding = advised.finding
                if finding.status in statuses and not advised.refuted and LEVELS.index(finding.issue.level) >= least:
                    return 1
    return 0 if all(audit.complete for audit in audits) else 3
