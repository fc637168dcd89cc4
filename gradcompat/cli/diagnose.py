"""``gradcompat diagnose``: what a log, a curve or a traceback probably shows."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import BinaryIO

from gradcompat.cli.auditing import with_facts
from gradcompat.cli.ending import print_error
from gradcompat.cli.knowing import known_records
from gradcompat.cli.run_files import by_kind, failure, joined, known_of
from gradcompat.diagnosis import exports, tensorboard
from gradcompat.diagnosis.curves import Curves
from gradcompat.diagnosis.log import Log, read_log
from gradcompat.diagnosis.ranking import Evidence, diagnose
from gradcompat.diagnosis.symptoms import Pattern, patterns_of
from gradcompat.errors import Malformed, NotFound, SourceError, UsageError
from gradcompat.formats.document import MAX_BYTES, Document, decode
from gradcompat.knowledge.load import KnowledgeBase, issue_from
from gradcompat.matcher import key_of
from gradcompat.model.diagnosis import DiagnosisReport, ReadFile, Seen
from gradcompat.model.environment import Environment, Setting, SettingValue, Skipped
from gradcompat.model.issue import Issue
from gradcompat.phrases import value_text
from gradcompat.sources import report
from gradcompat.vocabulary import parse_setting

_RENDERERS = {"text": "gradcompat.renderers.diagnosis_text", "json": "gradcompat.renderers.diagnosis_json"}
_BUFFER = 1 << 16  # as much as is looked at to see what a file is
_MOST_VERSIONS = 12


@dataclass(slots=True)
class _Reading:
    """What has been read so far.

    Attributes:
        configured: what configs say, which counts less than what a log says.
        stated: what the user says, which counts more.
    """

    configured: Mapping[str, SettingValue]
    stated: Mapping[str, SettingValue]
    patterns: tuple[Pattern, ...]
    files: list[ReadFile] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    environments: list[Environment] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def run(
    files: Sequence[str],
    *,
    target: str | None,
    python: str | None,
    contexts: Sequence[str],
    facts: Sequence[str],
    knowledge: Sequence[str] = (),
    form: str,
) -> int:
    """Read the files, explain what they show, and return the exit status.

    Raises:
        UsageError: if an option makes no sense, or no log is named.
        SourceError: if the environment that is named cannot be read.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    if form not in _RENDERERS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_RENDERERS)}")
    base = known_records(knowledge)
    stated = tuple(map(parse_setting, facts))
    sorted_in = by_kind(files)
    known = known_of(sorted_in, target=target, python=python, contexts=contexts)
    searched = _searched(base)
    patterns, useless = patterns_of(searched)
    reading = _Reading(_agreed(known.settings), dict(stated), patterns)
    reading.skipped += [Skipped(what=f"the symptom `{text}`", reason=reason) for text, reason in useless]
    failed = list(sorted_in.failed)
    for file in sorted_in.logs:
        try:
            _read(file, reading)
        except SourceError as error:
            failed.append(error)
    if not reading.files:
        if not failed:
            raise UsageError(
                f"`{files[0]}` is no log: there is nothing to diagnose", hint="`gradcompat check` looks at it"
            )
        for one in failed:
            print_error(one)
        return 2
    reading.skipped += [*map(failure, failed), *known.skipped]
    environment, notes = joined(known, reading.environments, base)
    reading.skipped += notes
    environment = with_facts(environment, stated)
    about = {issue.id: issue for issue in (*searched, *base.about([environment])) if issue.withdrawn is None}
    issues = [about[identifier] for identifier in sorted(about)]
    diagnoses, ruled_out, unexplained = diagnose(reading.evidence, environment, issues, base.names)
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
    if any(not one.harmless for one in diagnoses):
        result = replace(result, exit_status=1)
    elif any(one.gap for one in reading.skipped):
        result = replace(result, exit_status=3)
    import_module(_RENDERERS[form]).render(result, sys.stdout)
    return result.exit_status


def _agreed(settings: Sequence[Setting]) -> dict[str, SettingValue]:
    """The settings of which every place says the same."""
    values: dict[str, set[SettingValue | None]] = {}
    for setting in settings:
        values.setdefault(setting.key, set()).add(setting.value)
    return {key: value for key, (value, *others) in values.items() if not others and value is not None}


def _searched(base: KnowledgeBase) -> list[Issue]:
    """The records with symptoms."""
    return [issue_from(record) for record in base.records if record["symptoms"] and record["withdrawn"] is None]


def _read(file: str, reading: _Reading) -> None:
    """Read one file, whatever it is.

    Raises:
        SourceError: if it cannot be read.
    """
    with _opened(file) as stream:
        head = stream.peek(_BUFFER)
        if not head:
            raise Malformed("is empty", path=file)
        if tensorboard.matches(head):
            if file == "-":
                raise Malformed("is a TensorBoard event file, which has to be named", path=file)
            _points(file, "TensorBoard events", tensorboard.read(stream, file), reading)
            return
        kind = exports.recognise(head[:_BUFFER].decode("utf-8", "replace"))
        if kind == "json":
            text = decode(stream.read(MAX_BYTES + 1), file)
            _points(file, "JSON", exports.read(Document(file, text), kind), reading)
        elif kind is not None:
            rows = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
            _points(file, "CSV" if kind == "csv" else "JSON lines", exports.read_rows(rows, file, kind), reading)
        else:
            _log(file, stream, reading)


def _opened(file: str) -> io.BufferedReader:
    if file == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise NotFound("standard input is a terminal", path="-", hint="pipe a log into it")
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), _BUFFER)
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise NotFound("there is no such file", path=file) from None
    except (OSError, ValueError) as error:
        raise NotFound(f"cannot be read: {getattr(error, 'strerror', error)}", path=file) from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe, a socket or a device"
        raise NotFound(f"is {kind}, not a file", path=file, hint="to read from a pipe, use `-`")
    return io.BufferedReader(io.FileIO(descriptor), _BUFFER)


def _points(file: str, kind: str, points: Iterable[tuple[dict[str, float], int] | Skipped], reading: _Reading) -> None:
    curves = Curves({**reading.configured, **reading.stated})
    count = 0
    for point in points:
        if isinstance(point, Skipped):
            reading.skipped.append(point)
        else:
            curves.add(*point)
            count += 1
    reading.files.append(ReadFile(path=file, kind=kind, lines=None, steps=count))
    reading.evidence.append(Evidence(path=file, observations=curves.observations()))


def _log(file: str, stream: BinaryIO, reading: _Reading) -> None:
    curves: Curves | None = None
    log = Log.of(file)

    def metrics(values: Mapping[str, float], line: int) -> None:
        nonlocal curves
        if curves is None:
            # What a trainer announces, it announces before the first step.
            announced = [*log.statements.settings.values(), *_excerpted(log)]
            curves = Curves({**reading.configured, **_agreed(announced), **reading.stated})
        curves.add(values, line)

    read_log(stream, log, reading.patterns, metrics)
    reading.files.append(ReadFile(path=file, kind="log", lines=log.lines, steps=log.metric_lines))
    reading.evidence.append(
        Evidence(
            path=file,
            hits={text: (hit.count, hit.places) for text, hit in log.hits.items()},
            observations=[] if curves is None else curves.observations(),
            modules=frozenset(log.modules),
            errors=log.errors,
        )
    )
    environment = log.statements.environment(lambda text: _report(file, text), _excerpted(log))
    if environment is not None:
        reading.environments.append(environment)


def _report(file: str, text: str) -> Environment | None:
    try:
        return report.read(Document(file, text))
    except SourceError:
        return None


def _excerpted(log: Log) -> list[Setting]:
    """What the command lines, arguments and configs say that the log prints; few logs print any."""
    found = log.statements.excerpts.found
    if not found:
        return []
    from gradcompat.cli.settings_in_log import settings_of

    return settings_of(found, log.path)


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
    shown: set[tuple[str, SettingValue]] = set()
    for setting in environment.settings:
        if setting.key in wanted and setting.value is not None and (setting.key, setting.value) not in shown:
            shown.add((setting.key, setting.value))
            yield Seen(sentence=f"{setting.key} {value_text(setting.value)}", location=setting.location)
