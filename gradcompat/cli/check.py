"""``gradcompat check``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from gradcompat.cli.auditing import Options, asked_for, audit_all, exit_status
from gradcompat.cli.configuration import configuration
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase, load
from gradcompat.model.issue import Level
from gradcompat.model.report import Report
from gradcompat.renderers.registry import RENDERERS
from gradcompat.vocabulary import parse_setting

_LEVELS: dict[str, Level | None] = {"error": "error", "warning": "warning", "note": "note", "never": None}


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
) -> int:
    """Check the targets, print the report, and return the exit status.

    Raises:
        UsageError: if an option makes no sense.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    if form not in RENDERERS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(RENDERERS)}")
    base = load()
    options = _options(
        configuration(Path.cwd()),
        base,
        facts=facts,
        fail_on=fail_on,
        strict=strict,
        only=only,
        ignore=ignore,
        show_all=show_all,
    )
    asked = asked_for(targets, python, contexts)
    audits = audit_all(asked, base, options)
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


def _options(
    kept: dict[str, Any],
    base: KnowledgeBase,
    *,
    facts: Sequence[str],
    fail_on: str | None,
    strict: bool,
    only: Sequence[str],
    ignore: Sequence[str],
    show_all: bool,
) -> Options:
    """The command line over the project's own table."""
    level: str = fail_on or kept.get("fail-on", "error")
    if level not in _LEVELS:
        raise UsageError(f"`{level}` is no level", hint="levels are error, warning and note; `never` fails on none")
    stated = dict(kept.get("settings", ()))
    stated.update(map(parse_setting, facts))
    return Options(
        settings=tuple(stated.items()),
        only=_ids(only or kept.get("only", []), base),
        ignore=_ids([*ignore, *kept.get("ignore", [])], base),
        fail_on=_LEVELS[level],
        strict=strict or kept.get("strict", False),
        show_all=show_all,
    )


def _ids(identifiers: Sequence[str], base: KnowledgeBase) -> frozenset[str]:
    known = {record["id"] for record in base.records}
    ids = frozenset(identifier.upper() for identifier in identifiers)
    for identifier in sorted(ids - known):
        raise UsageError(f"there is no record `{identifier}`", hint="ids look like GC-0002")
    return ids
