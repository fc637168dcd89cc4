"""``gradcompat check``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import partial

from gradcompat.audit.auditor import asked_for
from gradcompat.audit.report import report_on
from gradcompat.cli.audit_options import options_of
from gradcompat.cli.output import outputs_of, write
from gradcompat.database.open import known_records
from gradcompat.renderers.registry import WITH_EDITS
from gradcompat.suppression.apply import Judging


def run(
    targets: Sequence[str],
    *,
    python: str | None,
    contexts: Sequence[str],
    facts: Sequence[str],
    form: str | None,
    outputs: Sequence[str],
    fail_on: str | None,
    strict: bool,
    only: Sequence[str],
    ignore: Sequence[str],
    knowledge: Sequence[str] = (),
    show_all: bool,
    probe: bool = False,
    device: str = "auto",
    baseline: str | None = None,
    diff: str | None = None,
    show_suppressed: bool | None = None,
) -> int:
    """Check the targets, write the reports, and return the exit status.

    Raises:
        UsageError: if an option makes no sense, a file that it names cannot be used, or a report cannot be written.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    wanted = outputs_of(form, outputs)
    base = known_records(knowledge)
    options = options_of(base, facts=facts, fail_on=fail_on, strict=strict, only=only, ignore=ignore, show_all=show_all)
    judging: list[Judging] = []
    if options.waivers is not None:
        from gradcompat.suppression.waivers import waiving

        options, by_waivers = waiving(options.waivers, base, options, date.today(), targets)
        judging.append(by_waivers)
    compared = None
    if baseline is not None:
        from gradcompat.suppression.baseline import judging_by

        judging.append(judging_by(baseline, options))
    if diff is not None:
        from gradcompat.suppression.revision_diff import comparison

        compared = comparison(diff, targets, python, contexts, facts)
    asked = asked_for(targets, python, contexts)
    if compared is not None:
        from gradcompat.suppression.revision_diff import diffing

        judging.append(diffing(compared, asked, base, options))
    probing = None
    if probe:
        from gradcompat.audit.verification import probed

        probing = partial(probed, targets=targets, python=python, device=device)
    report = replace(report_on(asked, base, options, probing, judging), show_suppressed=show_suppressed)
    if any(one.form in WITH_EDITS for one in wanted):
        from gradcompat.audit.pin_edits import with_edits

        report = replace(report, audits=tuple(map(with_edits, report.audits)))
    write(report, wanted)
    return report.exit_status
