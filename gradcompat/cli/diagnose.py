"""``gradcompat diagnose``: what a log, a curve or a traceback probably shows."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from gradcompat.cli.app import print_error
from gradcompat.cli.auditing import with_facts
from gradcompat.diagnosis import exports, tensorboard
from gradcompat.diagnosis.curves import Curves
from gradcompat.diagnosis.log import Log, read_log
from gradcompat.diagnosis.ranking import Evidence, diagnose
from gradcompat.diagnosis.symptoms import Pattern, patterns_of
from gradcompat.errors import Malformed, NotFound, SourceError, UsageError
from gradcompat.formats.document import MAX_BYTES, Document, decode, read_document
from gradcompat.knowledge.load import KnowledgeBase, issue_from, load
from gradcompat.model.diagnosis import DiagnosisReport, ReadFile, Seen
from gradcompat.model.environment import Environment, Location, Package, SettingValue, Skipped
from gradcompat.model.issue import Issue
from gradcompat.sources import report
from gradcompat.sources.installed import is_environment, read_folder
from gradcompat.sources.reading import read
from gradcompat.vocabulary import parse_setting

_RENDERERS = {"text": "gradcompat.renderers.diagnosis_text", "json": "gradcompat.renderers.diagnosis_json"}
_BUFFER = 1 << 16  # as much as is looked at to see what a file is
_MOST_VERSIONS = 12


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    known: Mapping[str, SettingValue]
    patterns: tuple[Pattern, ...]
    files: list[ReadFile] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    environments: list[Environment] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def run(files: Sequence[str], *, target: str | None, facts: Sequence[str], form: str) -> int:
    """Read the files, explain what they show, and return the exit status.

    Raises:
        UsageError: if an option makes no sense.
        SourceError: if the environment that is named cannot be read.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    if form not in _RENDERERS:
        raise UsageError(f"`--format {form}` is not known", hint=f"known: {', '.join(_RENDERERS)}")
    base = load()
    stated = tuple(map(parse_setting, facts))
    named = None if target is None else _environment_of(target)
    settings = [] if named is None else [(one.key, one.value) for one in named.settings if one.value is not None]
    searched = _searched(base)
    patterns, useless = patterns_of(searched)
    reading = _Reading({**dict(settings), **dict(stated)}, patterns)
    reading.skipped += [Skipped(what=f"the symptom `{text}`", reason=reason) for text, reason in useless]
    failed = []
    for file in dict.fromkeys(files):
        try:
            _read(file, reading)
        except SourceError as error:
            failed.append(error)
    if not reading.files:
        for failure in failed:
            print_error(failure)
        return 2
    reading.skipped += map(_failure, failed)
    environment, notes = _joined(named, reading.environments, base)
    reading.skipped += notes
    environment = with_facts(environment, stated)
    about = {issue.id: issue for issue in (*searched, *base.about([environment])) if issue.withdrawn is None}
    issues = [about[identifier] for identifier in sorted(about)]
    diagnoses, ruled_out, unexplained = diagnose(reading.evidence, environment, issues, base.names)
    result = DiagnosisReport(
        files=tuple(reading.files),
        versions=tuple(_versions(environment, base)),
        diagnoses=diagnoses,
        ruled_out=ruled_out,
        unexplained=unexplained,
        skipped=tuple(reading.skipped),
        records=len(base.records),
        date=base.date,
        exit_status=0,
    )
    if any(not one.harmless for one in diagnoses):
        result = replace(result, exit_status=1)
    elif any(one.gap for one in reading.skipped):
        result = replace(result, exit_status=3)
    import_module(_RENDERERS[form]).render(result, sys.stdout)
    return result.exit_status


def _searched(base: KnowledgeBase) -> list[Issue]:
    """The records with symptoms."""
    return [issue_from(record) for record in base.records if record["symptoms"] and record["withdrawn"] is None]


def _environment_of(target: str) -> Environment:
    path = Path(target)
    if path.is_dir():
        if is_environment(path):
            return read_folder(path, target)
        raise UsageError(
            f"`--environment {target}` is a folder that is no environment", hint="name the lockfile or `pip list` in it"
        )
    return read(read_document(path, target))


def _failure(error: SourceError) -> Skipped:
    path = error.path or "-"
    return Skipped(what=path, reason=error.message, location=Location(path=path, line=error.line))


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
    curves = Curves(reading.known)
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
            announced = {one.key: one.value for one in log.statements.settings.values() if one.value is not None}
            curves = Curves({**announced, **reading.known})
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
    environment = log.statements.environment(lambda text: _report(file, text))
    if environment is not None:
        reading.environments.append(environment)


def _report(file: str, text: str) -> Environment | None:
    try:
        return report.read(Document(file, text))
    except SourceError:
        return None


def _joined(
    named: Environment | None, found: Sequence[Environment], base: KnowledgeBase
) -> tuple[Environment, list[Skipped]]:
    """One environment of what the logs say and of the one that is named; the logs know better what ran."""
    notes = [one for environment in found for one in environment.skipped]
    packages = [package for environment in found for package in environment.packages]
    settings = tuple(dict.fromkeys(setting for environment in found for setting in environment.settings))
    if named is None and not found:
        return Environment(source="", kind="log", packages=(), closed=False), notes
    if named is None:
        virtual = {key: value for environment in found for key, value in environment.virtual.items()}
        joined = replace(found[0], packages=tuple(packages), settings=settings, virtual=virtual, skipped=())
        return joined, notes
    stated = {base.names.canonical(package): package for package in packages}
    for package in named.packages:
        seen = stated.get(base.names.canonical(package))
        if seen is not None and package.version not in (None, seen.version) and not _same(package, seen):
            reason = f"is {package.version} there, and {seen.version} in {seen.location}, which counts"
            notes.append(Skipped(what=package.name, reason=reason, gap=False, location=package.location))
    kept = tuple(package for package in named.packages if base.names.canonical(package) not in stated)
    keys = {setting.key for setting in settings}
    rest = tuple(setting for setting in named.settings if setting.key not in keys)
    return replace(named, packages=(*packages, *kept), settings=(*settings, *rest)), notes


def _same(one: Package, other: Package) -> bool:
    """The same release: a report leaves a local label out, a lockfile does not."""
    return (one.version or "").partition("+")[0] == (other.version or "").partition("+")[0]


def _versions(environment: Environment, base: KnowledgeBase) -> Iterator[Seen]:
    known = [
        package
        for package in environment.packages
        if package.version is not None and base.knows(base.names.canonical(package))
    ]
    for package in known[:_MOST_VERSIONS]:
        yield Seen(sentence=f"{package.name} {package.version}", location=package.location)
