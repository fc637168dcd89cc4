"""``gradcompat check``; its annotations are no texts, as those of its :mod:`~gradcompat.cli.parameters`."""

import os
import signal
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gradcompat.audit.replaced_versions import parse_replacements
from gradcompat.audit.report_parts import MOST_QUESTIONS, asked_of
from gradcompat.cli.audit_options import options_of
from gradcompat.cli.console import known_records
from gradcompat.cli.declarations import Option
from gradcompat.cli.output import outputs_of, write
from gradcompat.cli.parameters import AuditParameters, repeatable
from gradcompat.config.schema import configuration
from gradcompat.errors import UsageError
from gradcompat.files.observations import spoil
from gradcompat.files.user_folders import cache_folder
from gradcompat.messages import counted
from gradcompat.pipeline import CheckRequest, check_targets
from gradcompat.renderers.registry import RENDERERS
from gradcompat.startup.lazy_dataclasses import replace

if TYPE_CHECKING:
    from datetime import date

_FORMS = tuple(RENDERERS)


def command(
    *,
    audit: AuditParameters,
    form: Annotated[
        str | None,
        Option(
            "--format",
            metavar="FORMAT",
            help=f"How to print the result: {', '.join(_FORMS[:-1])} or {_FORMS[-1]}.  [default: text]",
        ),
    ] = None,
    outputs: Annotated[
        list[str],
        repeatable(
            "--output", metavar="FORMAT=FILE", help="Write the result into a file as well; `-` prints it. Repeatable."
        ),
    ],
    show_all: Annotated[
        bool, Option("--all", help="Also list records for installed packages that do not apply.")
    ] = False,
    probe: Annotated[
        bool, Option("--probe", help="Measure in the environment whether the findings can be reproduced.")
    ] = False,
    device: Annotated[
        str, Option("--device", metavar="auto|cpu|cuda[:N]|mps|xpu[:N]", help="Where --probe trains.")
    ] = "auto",
    baseline: Annotated[
        str | None,
        Option(
            "--baseline",
            metavar="FILE",
            help="An earlier report (--output json=FILE): findings in it do not count.",
        ),
    ] = None,
    diff: Annotated[
        str | None,
        Option(
            "--diff",
            metavar="BASE",
            help="A git revision: only findings introduced since this branch left it count. Nothing is checked out.",
        ),
    ] = None,
    config_from: Annotated[
        str | None,
        Option(
            "--config-from",
            metavar="REVISION",
            help="Take the project's options, waivers, records and baseline from this git revision; changes "
            "to them are listed and do not count.",
        ),
    ] = None,
    replacements: Annotated[
        list[str],
        repeatable(
            "--with",
            metavar="NAME==VERSION",
            help="Judge with this version in place of the pinned one: what it would break, and what it would cure. "
            "Repeatable.",
        ),
    ],
    show_suppressed: Annotated[
        bool | None,
        Option(
            "--show-suppressed/--hide-suppressed",
            show_default=False,
            help="List waived and baseline findings; or leave them out of SARIF, JUnit and HTML, too, as an upload "
            "to GitHub needs it.",
        ),
    ] = None,
    no_cache: Annotated[bool, Option("--no-cache", help="Check anew, and keep nothing for the next check.")] = False,
) -> int:
    """List the known training defects that an environment or a lockfile has.

    A finding is `affected`, or `conditional` if it depends on a fact that no file shows; --set supplies the fact.
    Nothing that is checked is run or imported, and no network is used.

    Exit status:
      0  nothing is affected at or above --fail-on; with --with, nothing that the pinned versions do not have
      1  findings; with --strict also conditional ones
      2  wrong usage, or nothing could be read
      3  something could not be checked: a file that could not be read, a missing version

    Files:
      gradcompat.toml  keeps fail-on, strict, only, ignore, settings, knowledge and waivers; the nearest one counts
      pyproject.toml   keeps the same in `[tool.gradcompat]`

    Environment:
      VIRTUAL_ENV, CONDA_PREFIX  the active environment, where no target is named; else ./.venv
      GITHUB_STEP_SUMMARY        --format github appends the report to this file
      GRADCOMPAT_CACHE           where reports, and what was read of large lockfiles, are kept
      COLUMNS                    how wide text is printed

    Examples:
      gradcompat check
      gradcompat check uv.lock --context train.yaml
      gradcompat check uv.lock --set training.gradient_accumulation_steps=8
      gradcompat check uv.lock --with transformers==5.5.4 --with peft==0.18.1
      gradcompat check . --output sarif=gradcompat.sarif --output github=-
      gradcompat check . --baseline baseline.json
      gradcompat check . --diff origin/main --config-from origin/main
      pip list | gradcompat check -
    """
    wanted = outputs_of(form, outputs)
    if replacements and (probe or diff is not None):
        raise UsageError(
            f"`--with` judges versions that are not installed, and `{'--probe' if probe else '--diff'}` those that are",
            hint="leave one of them out",
        )
    with ExitStack() as stack:
        settled = None
        if config_from is not None:
            from gradcompat.suppression.base_options import base_options

            settled = stack.enter_context(base_options(config_from, baseline))
        kept = configuration(Path.cwd()) if settled is None else settled.kept
        base = known_records(audit.knowledge, kept=kept)
        options = options_of(base, audit, show_all=show_all, kept=kept)
        cache = None
        if not no_cache and kept.get("cache", True):
            cache = cache_folder(os.environ, sys.platform)
        if cache is None:
            spoil()  # the report is not kept, either
        options = replace(
            options,
            replacements=parse_replacements(replacements),
            cache=None if cache is None else cache.absolute(),  # other processes work in another folder
        )
        request = CheckRequest(
            targets=audit.targets,
            python=audit.python,
            contexts=audit.contexts,
            diff=diff,
            facts=audit.facts,
            same_options=settled is not None,
        )
        if baseline is not None and (settled is None or settled.baseline is not None):
            request = replace(request, baseline=baseline, baseline_file=None if settled is None else settled.baseline)
        if probe:
            from gradcompat.audit.verification import with_probe_results

            # The terminal's Ctrl-C does not reach the other interpreter; it is ended on the way out.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            probed = partial(with_probe_results, targets=audit.targets, python=audit.python, device=device)
            request = replace(request, probed=probed)
        report = replace(check_targets(request, base, options, _today), show_suppressed=show_suppressed)
    if settled is not None:
        report = replace(report, remarks=(*settled.remarks, *report.remarks))
    if not replacements and any(RENDERERS[output.form].edits for output in wanted):
        from gradcompat.audit.pin_edits import with_edits

        report = replace(report, audits=tuple(map(with_edits, report.audits)))
    write(report, wanted)
    if sys.stdout.isatty() and (questions := len(asked_of(report.findings))):
        asks = counted(min(questions, MOST_QUESTIONS), "question")
        sys.stderr.write(f"gradcompat ask with the same targets asks the {asks} that decide most\n")
    return report.exit_status


def _today() -> "date":
    from datetime import date  # a millisecond, for those who have waivers

    return date.today()
