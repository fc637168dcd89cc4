"""``gradcompat check``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gradcompat.cli.auditing import asked_for
from gradcompat.cli.options import options_of
from gradcompat.cli.outputs import outputs_of, write
from gradcompat.cli.reporting import report_on
from gradcompat.knowledge.load import load
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
    show_all: bool,
    probe: bool = False,
    device: str = "auto",
) -> int:
    """Check the targets, write the reports, and return the exit status.

    Raises:
        UsageError: if an option makes no sense, or a report cannot be written.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    wanted = outputs_of(form, outputs)
    base = load()
    options = options_of(base, facts=facts, fail_on=fail_on, strict=strict, only=only, ignore=ignore, show_all=show_all)
    asked = asked_for(targets, python, contexts)
    probing = None
    if probe:
        from gradcompat.cli.probing import probed

        probing = partial(probed, targets=targets, python=python, device=device)
    report = report_on(asked, base, options, probing)
    if any(one.form in WITH_EDITS for one in wanted):
        from gradcompat.cli.pin_edits import with_edits

        report = replace(report, audits=tuple(map(with_edits, report.audits)))
    write(report, wanted)
    return report.exit_status
