"""``gradcompat check``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from gradcompat.cli.auditing import asked_for
from gradcompat.cli.configuration import configuration
from gradcompat.cli.knowing import known_records
from gradcompat.cli.options import options_of
from gradcompat.cli.outputs import outputs_of, write
from gradcompat.cli.reporting import report_on
from gradcompat.cli.setting_aside import Judging
from gradcompat.renderers.registry import WITH_EDITS


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
    config_from: str | None = None,
    show_suppressed: bool | None = None,
) -> int:
    """Check the targets, write the reports, and return the exit status.

    Raises:
        UsageError: if an option makes no sense, a file that it names cannot be used, or a report cannot be written.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    wanted = outputs_of(form, outputs)
    with ExitStack() as stack:
        settled = None
        if config_from is not None:
            from gradcompat.cli.base_options import base_options

            settled = stack.enter_context(base_options(config_from, baseline))
        kept = configuration(Path.cwd()) if settled is None else settled.kept
        base = known_records(knowledge, kept=kept)
        options = options_of(
            base, facts=facts, fail_on=fail_on, strict=strict, only=only, ignore=ignore, show_all=show_all, kept=kept
        )
        judging: list[Judging] = []
        if options.waivers is not None:
            from gradcompat.cli.waivers import waiving

            options, by_waivers = waiving(options.waivers, base, options, date.today(), targets)
            judging.append(by_waivers)
        compared = None
        lies = None if baseline is None else Path(baseline) if settled is None else settled.baseline
        if baseline is not None and lies is not None:
            from gradcompat.cli.baseline import judging_by

            judging.append(judging_by(baseline, options, lies))
        if diff is not None:
            from gradcompat.cli.differing import comparison

            compared = comparison(diff, targets, python, contexts, facts)
        asked = asked_for(targets, python, contexts)
        if compared is not None:
            from gradcompat.cli.differing import diffing

            judging.append(diffing(compared, asked, base, options, same_options=settled is not None))
        probing = None
        if probe:
            from gradcompat.cli.probing import probed

            probing = partial(probed, targets=targets, python=python, device=device)
        report = replace(report_on(asked, base, options, probing, judging), show_suppressed=show_suppressed)
    if settled is not None:
        report = replace(report, remarks=(*settled.remarks, *report.remarks))
    if any(one.form in WITH_EDITS for one in wanted):
        from gradcompat.cli.pin_edits import with_edits

        report = replace(report, audits=tuple(map(with_edits, report.audits)))
    write(report, wanted)
    return report.exit_status
