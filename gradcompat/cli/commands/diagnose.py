"""``gradcompat diagnose``: what a log, a curve or a traceback probably shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated

from gradcompat.audit.environment_findings import with_facts
from gradcompat.audit.run_artifacts import by_kind, failure, joined, known_of
from gradcompat.audit.run_evidence import RunEvidence, agreed_settings, read_file
from gradcompat.cli.audit_options import presumes
from gradcompat.cli.command_end import print_error
from gradcompat.cli.console import known_records
from gradcompat.cli.declarations import Argument, Option
from gradcompat.cli.parameters import Assume, ContextFiles, Format, OwnRecords, Python, Set
from gradcompat.diagnosis.ranking import diagnose, ranked
from gradcompat.diagnosis.symptoms import patterns_of
from gradcompat.errors import SourceError, UsageError
from gradcompat.knowledge.load import KnowledgeBase, issue_from
from gradcompat.messages import value_text
from gradcompat.model.diagnosis import DiagnosisReport, Seen
from gradcompat.model.environment import Environment, Location, SettingValue, Skipped
from gradcompat.model.issue import Issue
from gradcompat.presumptions.upon import presumed_upon
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.class_facts import with_class_facts
from gradcompat.terms.term_keys import key_of
from gradcompat.vocabulary import parse_setting

_RENDERERS = {"text": "gradcompat.renderers.diagnosis_text", "json": "gradcompat.renderers.diagnosis_json"}
_MOST_VERSIONS = 12


def command(
    *,
    files: Annotated[
        list[str],
        Argument(
            metavar="FILE...",
            help="The files of one run: logs, tracebacks, trainer_state.json, TensorBoard event files, W&B exports, "
            "or `-` for a pipe. A lockfile or training config among them is used as if given with its option.",
        ),
    ],
    target: Annotated[
        str | None,
        Option("--environment", metavar="TARGET", help="The lockfile, `pip list` or environment of that run."),
    ] = None,
    python: Python = None,
    contexts: ContextFiles,
    facts: Set,
    assume: Assume = None,
    knowledge: OwnRecords,
    form: Format = "text",
) -> int:
    """Say what a log or a loss curve probably shows, why, and what would confirm it.

    Versions and settings that the log itself states are used, and take precedence over a lockfile or a config;
    --set takes precedence over both.

    Exit status:
      0  nothing, or only harmless observations
      1  something was recognised
      2  wrong usage, or nothing could be read
      3  an error is there that nothing explains, or a part could not be read

    Examples:
      gradcompat diagnose train.log
      gradcompat diagnose train.log uv.lock train.yaml
      gradcompat diagnose train.log trainer_state.json --environment uv.lock
    """
    if form not in _RENDERERS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_RENDERERS)}")
    base = known_records(knowledge)
    stated = tuple(map(parse_setting, facts))
    sorted_in = by_kind(files)
    known = known_of(sorted_in, target=target, python=python, contexts=contexts)
    searched = _searched(base)
    patterns, useless = patterns_of(searched)
    reading = RunEvidence(agreed_settings(known.settings), dict(stated), patterns)
    reading.skipped += [Skipped(what=f"the symptom `{text}`", reason=reason) for text, reason in useless]
    failed = list(sorted_in.failed)
    for file in sorted_in.logs:
        try:
            read_file(file, reading)
        except SourceError as error:
            failed.append(error)
    if not reading.files:
        if not failed:
            raise UsageError(
                f"`{files[0]}` is not a log: there is nothing to diagnose", hint="`gradcompat check` looks at it"
            )
        for source_error in failed:
            print_error(source_error)
        return 2
    reading.skipped += [*map(failure, failed), *known.skipped]
    environment, notes = joined(known, reading.environments, base)
    reading.skipped += notes
    if environment.packages:
        from gradcompat.host.machine import completed

        environment = completed(environment, None)
    environment = with_class_facts(with_facts(environment, stated), base.class_facts)
    about = {issue.id: issue for issue in (*searched, *base.about([environment])) if issue.withdrawn is None}
    issues = [about[identifier] for identifier in sorted(about)]
    names = map(base.names.canonical, environment.packages)
    run = bool(sorted_in.contexts or contexts)
    presumed = presumed_upon(environment, names, run=run, logged=True) if presumes(assume) else None
    read = run or bool(sorted_in.environments or target or python)
    diagnoses, ruled_out, unexplained = diagnose(reading.evidence, environment, issues, base.names, presumed, read=read)
    if unexplained:
        from gradcompat.audit.logged_breaks import explained

        modules = frozenset().union(*(evidence.modules for evidence in reading.evidence))
        broken, left = explained(unexplained, environment, modules, base.names)
        diagnoses, unexplained = ranked((*broken, *diagnoses)), tuple(left)
    if any(evidence.installer.demands or evidence.installer.missing for evidence in reading.evidence):
        from gradcompat.audit.installer_conflicts import conflicts
        from gradcompat.index.snapshot import shipped_snapshot

        snapshot = shipped_snapshot()
        unmet = [one for seen in reading.evidence for one in conflicts(seen.installer, seen.path, snapshot)]
        diagnoses = ranked((*unmet, *diagnoses))
    result = DiagnosisReport(
        files=(*reading.files, *known.files),
        versions=tuple(_versions(environment, base)),
        settings=tuple(_settings(environment, base)),
        diagnoses=diagnoses,
        ruled_out=ruled_out,
        unexplained=unexplained,
        skipped=tuple(reading.skipped),
        records=len(base.records),
        date=base.date,
        exit_status=0,
        sources=base.sources,
    )
    if any(not diagnosis.harmless for diagnosis in diagnoses):
        result = replace(result, exit_status=1)
    elif unexplained or any(skipped.gap for skipped in reading.skipped):
        result = replace(result, exit_status=3)
    import_module(_RENDERERS[form]).render(result, sys.stdout)
    return result.exit_status


def _searched(base: KnowledgeBase) -> list[Issue]:
    """The records with symptoms."""
    return [issue_from(record) for record in base.records if record["symptoms"] and record["withdrawn"] is None]


def _versions(environment: Environment, base: KnowledgeBase) -> Iterator[Seen]:
    known = [
        package
        for package in environment.packages
        if package.version is not None and base.knows(base.names.canonical(package))
    ]
    for package in known[:_MOST_VERSIONS]:
        yield Seen(sentence=f"{package.name} {package.version}", location=package.location)


def _settings(environment: Environment, base: KnowledgeBase) -> Iterator[Seen]:
    """The settings that records speak of, each value where it first stands."""
    issues = map(issue_from, base.records) if environment.settings else ()
    wanted = {key_of(term) for issue in issues for combination in issue.affected for term in combination.terms}
    values: dict[tuple[str, Location], list[SettingValue]] = {}
    known: set[tuple[str, SettingValue]] = set()
    for setting in environment.settings:
        if setting.key in wanted and setting.value is not None and (setting.key, setting.value) not in known:
            known.add((setting.key, setting.value))
            values.setdefault((setting.key, setting.location), []).append(setting.value)
    for (key, location), several in values.items():
        yield Seen(sentence=f"{key} {' or '.join(map(value_text, several))}", location=location)
