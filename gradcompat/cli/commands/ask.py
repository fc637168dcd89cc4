"""``gradcompat ask``: the few facts that decide most, then the report."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date
from functools import partial
from pathlib import Path
from string import ascii_lowercase

from gradcompat.audit.options import AuditOptions
from gradcompat.audit.report_parts import MOST_QUESTIONS, Asked, asked_of
from gradcompat.cli.audit_options import options_of
from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import AuditParameters, DryRun
from gradcompat.cli.project_file import write_project_file
from gradcompat.config.project_file import OWN, as_seen_from_here
from gradcompat.config.schema import configuration
from gradcompat.edit.kept_settings import with_settings
from gradcompat.errors import UsageError
from gradcompat.messages import counted, value_text
from gradcompat.model.environment import Location, SettingValue
from gradcompat.model.report import Report
from gradcompat.pipeline import CheckRequest, check_targets
from gradcompat.renderers.terminal import width, wrapped
from gradcompat.renderers.text import render
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.suppression.new_waiver import waiver_file
from gradcompat.vocabulary import parse_value

_NOT_KNOWN = frozenset({"", "?", "don't know"})


def command(*, audit: AuditParameters, dry_run: DryRun = False) -> int:
    """Ask for the few facts that decide most findings, keep the answers, and show the report.

    At most five questions, the one that decides most first. An answer is the letter of a choice, or a value; `?` or an
    empty line says that you do not know. Of a package of which only a range is known it asks which version is installed
    (`package.torch`). Without a terminal the questions are printed, and nothing is asked or written.

    Exit status:
      0  nothing is affected at or above --fail-on; or the questions were printed
      1  findings
      2  wrong usage, or nothing could be read
      3  something could not be checked

    Files:
      gradcompat.toml  keeps the answers in `[settings]`, if it is there or if there is no pyproject.toml
      pyproject.toml   keeps them in `[tool.gradcompat.settings]` otherwise

    Examples:
      gradcompat ask
      gradcompat ask uv.lock --context train.yaml
    """
    kept = configuration(Path.cwd())
    base = known_records(audit.knowledge, kept=kept)
    options = options_of(base, audit, kept=kept)
    request = CheckRequest(targets=audit.targets, python=audit.python, contexts=audit.contexts, facts=audit.facts)
    report = check_targets(request, base, replace(options, advise=False), date.today)
    if not _at_a_terminal():
        _print_questions(report)
        return 0
    answers: dict[str, SettingValue] = {}
    passed: set[str] = set()
    for number in range(1, MOST_QUESTIONS + 1):
        asked = next((asked for asked in asked_of(report.findings) if asked.key not in passed), None)
        if asked is None:
            break
        passed.add(asked.key)
        answer = _answer(asked, number)
        if answer is None:
            continue
        answers[asked.key] = answer
        report = check_targets(request, base, replace(_with(options, answers), advise=False), date.today)
    if answers:
        _keep(answers, dry_run=dry_run)
    report = check_targets(request, base, _with(options, answers), date.today)
    render(report, sys.stdout)
    return report.exit_status


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()


def _with(options: AuditOptions, answers: Mapping[str, SettingValue]) -> AuditOptions:
    place = Location(path=as_seen_from_here(waiver_file(Path.cwd())[0]))
    return replace(
        options,
        settings=tuple({**dict(options.settings), **answers}.items()),
        kept_at=(*options.kept_at, *((key, place) for key in answers)),
    )


def _keep(answers: Mapping[str, SettingValue], *, dry_run: bool) -> None:
    place, _ = waiver_file(Path.cwd())
    keys = () if place.name == OWN else ("tool", "gradcompat")
    change = partial(with_settings, keys=keys, settings=answers)
    write_project_file(place, change, unchanged="has these settings", dry_run=dry_run)


def _print_questions(report: Report) -> None:
    asked = asked_of(report.findings)[:MOST_QUESTIONS]
    for number, one in enumerate(asked, start=1):
        sys.stdout.write(wrapped(_question(one), width(), f"{number}. ", "   ") + "\n")
        choices = " | ".join(value_text(choice) for choice in one.choices)
        sys.stdout.write(wrapped(f"--set {one.key}={choices}", width(), "   ", "     ") + "\n")
    if not asked:
        sys.stdout.write("nothing to ask: no fact that a person knows would decide more\n")


def _question(asked: Asked) -> str:
    return f"{asked.question} ({asked.key} decides {counted(len(asked.ids), 'finding')})"


def _answer(asked: Asked, number: int) -> SettingValue | None:
    """What is typed; None if that is nothing. A wrong answer is asked for again."""
    sys.stdout.write(wrapped(_question(asked), width(), f"{number}. ", "   ") + "\n")
    # Letters, since a number is the value of many settings.
    choices = dict(zip(ascii_lowercase, asked.choices, strict=False))
    for letter, choice in choices.items():
        sys.stdout.write(f"   {letter}  {value_text(choice)}\n")
    sys.stdout.write("   ?  don't know\n")
    while True:
        sys.stdout.write("   letter or value: ")
        sys.stdout.flush()
        text = sys.stdin.readline().strip()
        if text.lower() in _NOT_KNOWN:
            sys.stdout.write("" if text else "\n")
            return None
        if text.lower() in choices:
            return choices[text.lower()]
        try:
            return parse_value(asked.key, text)
        except UsageError as error:
            sys.stdout.write(f"   {error.message}\n")
