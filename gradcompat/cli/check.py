"""``gradcompat check``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

from gradcompat.cli.auditing import asked_for, audit_all, exit_status
from gradcompat.cli.options import options_of
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load
from gradcompat.model.report import Report
from gradcompat.renderers.registry import RENDERERS


def run(
    targets: Sequence[str],
    *,
    python: str | None,
    contexts: Sequence[str],
    facts: Sequence[str],
    form: str,
    fail_on: str | None,
    strict: bool,
    only: Sequence[str],
    ignore: Sequence[str],
    show_all: bool,
    probe: bool = False,
    device: str = "auto",
) -> int:
    """Check the targets, print the report, and return the exit status.

    Raises:
        UsageError: if an option makes no sense.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    if form not in RENDERERS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(RENDERERS)}")
    base = load()
    options = options_of(base, facts=facts, fail_on=fail_on, strict=strict, only=only, ignore=ignore, show_all=show_all)
    asked = asked_for(targets, python, contexts)
    audits = audit_all(asked, base, options)
    if probe:
        from gradcompat.cli.probing import probed

        audits = probed(audits, targets=targets, python=python, device=device)
    beside = [*asked.skipped, *(asked.contexts.skipped if asked.contexts is not None else ())]
    if beside and audits:
        # What a folder held beside its environments is told once, with the first of them.
        audits[0] = replace(audits[0], skipped=(*audits[0].skipped, *beside))
    report = Report(
        audits=tuple(audits),
        records=len(base.records),
        digest=base.digest,
        date=base.date,
        exit_status=exit_status(audits, options),
    )
    import_module(RENDERERS[form]).render(report, sys.stdout)
    return report.exit_status
