"""``gradcompat plan``: the smallest change that clears the findings, what else would, and what was verified."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from gradcompat.audit.auditor import asked_for
from gradcompat.audit.planning import Wishes, exit_status, work_on
from gradcompat.cli.audit_options import options_of
from gradcompat.database.open import known_records
from gradcompat.errors import UsageError
from gradcompat.index.catalog import Lookup, catalogue_of
from gradcompat.model.plan import PlanReport

_FORMATS = {
    "text": "gradcompat.renderers.plan_text",
    "json": "gradcompat.renderers.plan_json",
    "markdown": "gradcompat.renderers.plan_markdown",
}


def run(
    targets: Sequence[str],
    *,
    python: str | None,
    contexts: Sequence[str],
    facts: Sequence[str],
    fail_on: str | None,
    strict: bool,
    only: Sequence[str],
    ignore: Sequence[str],
    knowledge: Sequence[str] = (),
    keep: Sequence[str],
    prereleases: bool,
    lookup: Lookup,
    form: str,
) -> int:
    """Print a plan for each target.

    Returns:
        0 if nothing has to change, 1 if something has to, 2 if nothing could be read, 3 if a plan could not be
        verified or a target not be read.

    Raises:
        UsageError: if an option makes no sense.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    if form not in _FORMATS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_FORMATS)}")
    base = known_records(knowledge)
    options = options_of(base, facts=facts, fail_on=fail_on, strict=strict, only=only, ignore=ignore)
    asked = asked_for(targets, python, contexts)
    with catalogue_of(lookup) as catalogue:
        done = work_on(asked, base, catalogue, options, Wishes.of(keep, prereleases=prereleases))
    planned = tuple(work.planned for work in done)
    status = exit_status(done, left=any(one.plan is not None for one in planned))
    report = PlanReport(planned=planned, level=options.fail_on or "note", exit_status=status)
    import_module(_FORMATS[form]).render(report, sys.stdout)
    return report.exit_status
