"""The way from what was asked for to a report: audit each environment, add what probes measured, suppress, count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gradcompat.audit.auditor import audit_all
from gradcompat.audit.exit_status import exit_status
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.targets import AuditRequest
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.report import Audit, Report
from gradcompat.suppression.apply import RuleBuilder, suppress


def build_report(
    request: AuditRequest,
    base: KnowledgeBase,
    options: AuditOptions,
    probed: Callable[[list[Audit]], list[Audit]] | None = None,
    judging: Sequence[RuleBuilder] = (),
) -> Report:
    """Audit everything that was asked for.

    Args:
        request: the environments and training runs.
        base: the records.
        options: what counts.
        probed: adds the verdicts of probes, where they are run.
        judging: builders of suppression rules, in order of precedence.
    """
    audits = audit_all(request, base, options)
    if probed is not None:
        audits = probed(audits)
    beside = [*request.skipped, *(request.contexts.skipped if request.contexts is not None else ())]
    # What could be an environment and a training config is reported once, as unreadable, and what was
    # audited after all was not skipped.
    unread = {audit.source for audit in audits if audit.kind is None}
    audited = {audit.source for audit in audits if audit.kind is not None}
    beside = [part for part in beside if part.what not in (unread if part.gap else audited)]
    if beside and audits:
        # What a folder holds beside its environments is reported once, with the first of them.
        audits[0] = replace(audits[0], skipped=(*audits[0].skipped, *beside))
    rules = [build_rules(audits) for build_rules in judging]
    remarks = tuple(remark for rule in rules for remark in rule.remarks)
    audits = suppress(audits, [rule.judge for rule in rules])
    status = exit_status(audits, options)
    if status != 2 and any(remark.level == "error" for remark in remarks):
        status = 1
    return Report(
        audits=tuple(audits),
        records=len(base.records),
        digest=base.digest,
        date=base.date,
        sources=base.sources,
        exit_status=status,
        fail_on=options.fail_on,
        strict=options.strict,
        remarks=remarks,
        contexts=request.contexts.sources if request.contexts is not None else (),
    )
