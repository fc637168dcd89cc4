"""From what was asked for to a report: resolve, audit, add what probes measured, suppress, count.

`gradcompat check` and :func:`gradcompat.check` both go this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gradcompat.audit.auditor import audit_all
from gradcompat.audit.exit_status import exit_status
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.targets import AuditRequest, File, resolve_targets
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import NO_PACKAGES
from gradcompat.model.environment import Location, Skipped
from gradcompat.model.report import Audit, Report
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.suppression.apply import RuleBuilder, suppress

if TYPE_CHECKING:
    from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """What is checked, and what its findings are compared with.

    Attributes:
        targets: lockfiles, folders and the like; without one, and without ``python``, the active environment.
        python: an interpreter.
        contexts: training configs, launch scripts or programs that belong to all of the targets.
        baseline: an earlier report, as the user named it.
        baseline_file: where it lies, if that is elsewhere.
        diff: a git revision; only what has come since counts.
        facts: what ``--set`` says, which counts in that revision as well.
        same_options: that revision has the options of this run.
        probed: adds the verdicts of probes, where they are run.
    """

    targets: Sequence[str] = ()
    python: str | None = None
    contexts: Sequence[str] = ()
    baseline: str | None = None
    baseline_file: Path | None = None
    diff: str | None = None
    facts: Sequence[str] = ()
    same_options: bool = False
    probed: Callable[[list[Audit]], list[Audit]] | None = None


def check_targets(
    request: CheckRequest, base: KnowledgeBase, options: AuditOptions, today: Callable[[], date]
) -> Report:
    """Check what was asked for; what suppresses findings is loaded where there is some.

    Args:
        request: what is checked.
        base: the records.
        options: what counts.
        today: says which day it is, which waivers alone ask.

    Raises:
        UsageError: if something that is named makes no sense or cannot be read.
    """
    judging: list[RuleBuilder] = []
    if options.waivers is not None:
        from gradcompat.suppression.waivers import build_waiver_rule

        options, by_waivers = build_waiver_rule(options.waivers, base, options, today(), request.targets)
        judging.append(by_waivers)
    if request.baseline is not None:
        from gradcompat.suppression.baseline import judging_by

        judging.append(judging_by(request.baseline, options, request.baseline_file or Path(request.baseline)))
    if request.diff is None:
        asked = resolve_targets(request.targets, request.python, request.contexts)
    else:
        from gradcompat.suppression.revision_diff import comparison, diffing

        compared = comparison(request.diff, request.targets, request.python, request.contexts, request.facts)
        asked = resolve_targets(request.targets, request.python, request.contexts)
        judging.append(diffing(compared, asked, base, options, same_options=request.same_options))
    return build_report(asked, base, options, request.probed, judging)


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

    Raises:
        UsageError: if a version is to be replaced of a package that is listed nowhere.
    """
    audits = audit_all(request, base, options)
    if probed is not None:
        audits = probed(audits)
    rules = []
    if options.replacements:
        from gradcompat.suppression.replacement import compare_with_pinned

        audits, rule = compare_with_pinned(request, audits, base, options)
        rules.append(rule)
    sources = [audited.source for audited in audits]
    audits, empty = _without_empty(request, audits)
    beside = [*request.skipped, *empty]
    if request.contexts is not None:
        unused = request.contexts.unused(sources)
        beside += [*request.contexts.skipped({part.what for part in unused}), *unused]
    # What could be an environment and a training config is reported once, as unreadable, and what was
    # audited after all was not skipped.
    unread = {audit.source for audit in audits if audit.kind is None}
    audited = {audit.source for audit in audits if audit.kind is not None}
    beside = [part for part in beside if part.what not in (unread if part.gap else audited)]
    if beside and audits:
        # What a folder holds beside its environments is reported once, with the first of them.
        audits[0] = replace(audits[0], skipped=(*audits[0].skipped, *beside))
    rules += [build_rules(audits) for build_rules in judging]
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
        show_all=options.show_all,
        remarks=remarks,
        contexts=request.contexts.sources if request.contexts is not None else (),
    )


def _without_empty(request: AuditRequest, audits: Sequence[Audit]) -> tuple[list[Audit], list[Skipped]]:
    """The audits without files of a folder that list nothing, where others of it do; and a note for each of those."""
    if not any(audit.packages for audit in audits):
        return list(audits), []
    kept: list[Audit] = []
    notes: list[Skipped] = []
    for source, audit in zip(request.sources, audits, strict=True):
        found = isinstance(source, File) and source.found and audit.kind is not None
        if found and not audit.packages and all(part.empty for part in audit.skipped if part.gap):
            where = Location(path=audit.source)
            notes.append(Skipped(what=audit.source, reason=NO_PACKAGES, gap=False, location=where))
        else:
            kept.append(audit)
    return kept, notes
