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
    asked: AuditRequest,
    base: KnowledgeBase,
    options: AuditOptions,
    probed: Callable[[list[Audit]], list[Audit]] | None = None,
    judging: Sequence[RuleBuilder] = (),
) -> Report:
    """Audit everything that was asked for.

    Args:
        asked: the environments and training runs.
        base: the records.
        options: what counts.
        probed: adds the verdicts of probes, where they are run.
        judging: what says of the findings that they do not count, the first first.
    """
    audits = audit_all(asked, base, options)
    if probed is not None:
        audits = probed(audits)
    beside = [*asked.skipped, *(asked.contexts.skipped if asked.contexts is not None else ())]
    # What could be an environment and a training config is told as the one that cannot be read, and what was audited
    # after all was not passed over.
    unread = {audit.source for audit in audits if audit.kind is None}
    audited = {audit.source for audit in audits if audit.kind is not None}
    beside = [one for one in beside if one.what not in (unread if one.gap else audited)]
    if beside and audits:
        # What a folder held beside its environments is told once, with the first of them.
        audits[0] = replace(audits[0], skipped=(*audits[0].skipped, *beside))
    judgements = [judge(audits) for judge in judging]
    remarks = tuple(remark for one in judgements for remark in one.remarks)
    audits = suppress(audits, [one.judge for one in judgements])
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
        contexts=asked.contexts.sources if asked.contexts is not None else (),
    )
