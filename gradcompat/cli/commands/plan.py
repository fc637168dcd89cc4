"""``gradcompat plan``: the smallest change that clears the findings, what else would, and what was verified."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from gradcompat.audit.plans import PlanOptions, exit_status, plan_all
from gradcompat.audit.targets import resolve_targets
from gradcompat.cli.audit_options import options_of
from gradcompat.cli.console import known_records, package_index
from gradcompat.cli.index_parameters import Prereleases, ResolutionParameters
from gradcompat.cli.parameters import AuditParameters
from gradcompat.errors import UsageError
from gradcompat.model.plan_report import PlanReport

_FORMATS = {
    "text": "gradcompat.renderers.plan_text",
    "json": "gradcompat.renderers.plan_json",
    "markdown": "gradcompat.renderers.plan_markdown",
}


def command(
    *,
    audit: AuditParameters,
    resolution: ResolutionParameters,
    prereleases: Prereleases = False,
    form: Annotated[
        str, typer.Option("--format", metavar="text|json|markdown", help="How to print the result.")
    ] = "text",
) -> int:
    """Show the smallest change that clears the findings: which versions, which settings, and what was verified.

    A plan is applied to the environment and matched again; requirements, wheels and Python are looked up in the index.
    `--set host.python=3.11` and `--set host.platform=linux` plan for another machine.

    Exit status:
      0  nothing has to change
      1  something has to change
      2  wrong usage, or nothing could be read
      3  something could not be verified

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index are kept

    Examples:
      gradcompat plan uv.lock --context train.yaml
      gradcompat plan requirements.txt --offline --format json
    """
    if form not in _FORMATS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_FORMATS)}")
    base = known_records(audit.knowledge)
    options = options_of(base, audit)
    asked = resolve_targets(audit.targets, audit.python, audit.contexts)
    with package_index(resolution.lookup) as catalogue:
        done = plan_all(asked, base, catalogue, options, PlanOptions.of(resolution.keep, prereleases=prereleases))
    planned = tuple(work.planned for work in done)
    status = exit_status(done, left=any(one.plan is not None for one in planned))
    report = PlanReport(planned=planned, level=options.fail_on or "note", exit_status=status)
    import_module(_FORMATS[form]).render(report, sys.stdout)
    return report.exit_status
