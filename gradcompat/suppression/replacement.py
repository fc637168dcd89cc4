"""``check --with``: what the pinned versions have too does not count, so that a report shows what an upgrade does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gradcompat.audit.auditor import audit_each, tasks_of
from gradcompat.audit.fingerprints import fingerprints
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.audit.targets import AuditRequest
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.environment import Location
from gradcompat.model.report import Audit, ReportedFinding, Suppression
from gradcompat.suppression.apply import SuppressionRules
from gradcompat.suppression.prior_finding import PriorFinding, is_known, weight_of


def compare_with_pinned(
    request: AuditRequest, audits: list[Audit], base: KnowledgeBase, options: AuditOptions
) -> tuple[list[Audit], SuppressionRules]:
    """Audit the pinned versions of every environment in which one was replaced.

    Args:
        request: what was audited.
        audits: of it, with the replacements.
        base: the records.
        options: of these audits.

    Returns:
        The audits, each with what its replacements cure, and the rule that sets aside what was there before.

    Raises:
        UsageError: if no environment lists a package that is to be replaced.
    """
    _check_listed(audits, base, options)
    tasks = [task for task, audit in zip(tasks_of(request), audits, strict=True) if audit.replaced]
    pinned = iter(audit_each(tasks, base, replace(options, replacements=(), advise=False, show_all=False)))
    then = [next(pinned) if audit.replaced else audit for audit in audits]
    places = RepositoryPaths()
    marks_then, marks_now = fingerprints(then, places), fingerprints(audits, places)
    before = {
        marks_then[id(finding)]: PriorFinding(weight_of(finding), frozenset(finding.finding.contexts))
        for audit in then
        for finding in audit.findings
    }
    weights = {marks_now[id(finding)]: weight_of(finding) for audit in audits for finding in audit.findings}
    asleep = {
        marks_then[id(finding)] for audit in then for finding in audit.findings if finding.finding.status == "dormant"
    }
    compared = [
        replace(
            audit,
            cured=_cured(earlier, marks_then, weights) if audit.replaced else (),
            findings=tuple(
                finding
                for finding in audit.findings
                if options.show_all or finding.finding.status != "dormant" or marks_now[id(finding)] not in asleep
            ),
        )
        for audit, earlier in zip(audits, then, strict=True)
    ]
    replaced = {audit.source for audit in audits if audit.replaced}

    def judge(audit: Audit, advised: ReportedFinding) -> Suppression | None:
        if audit.source in replaced and not is_known(advised, before.get(marks_now[id(advised)]), str):
            return None
        location = Location(path=audit.source)
        return Suppression(kind="pinned", reason="the pinned versions have it too", location=location)

    return compared, SuppressionRules(judge=judge)


def _check_listed(audits: Sequence[Audit], base: KnowledgeBase, options: AuditOptions) -> None:
    if any(audit.kind is None for audit in audits):
        return  # what could not be read may list it
    families = base.names.families
    listed = {families.get(replaced.package, replaced.package) for audit in audits for replaced in audit.replaced}
    for name, version in options.replacements:
        if families.get(name, name) not in listed:
            hint = "--with replaces a version that is listed; name a target that lists the package"
            raise UsageError(f"`--with {name}=={version}`: `{name}` is listed nowhere here", hint=hint)


def _cured(then: Audit, marks: dict[int, str], weights: dict[str, int]) -> tuple[ReportedFinding, ...]:
    """What was sure, counted, and is neither sure nor open any more."""
    return tuple(
        finding
        for finding in then.findings
        if finding.finding.status == "affected"
        and not finding.finding.issue.informational
        and weights.get(marks[id(finding)], 0) == 0
    )
