"""What the logs and curves of a run show: symptoms, metrics, and the environments that they state."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO

from gradcompat.diagnosis import exports, tensorboard
from gradcompat.diagnosis.curves import Curves
from gradcompat.diagnosis.explanations import ERRORS
from gradcompat.diagnosis.log import MOST_ERRORS, Log, read_log
from gradcompat.diagnosis.ranking import Evidence
from gradcompat.diagnosis.stretches import Stretch
from gradcompat.diagnosis.symptoms import Pattern
from gradcompat.errors import Malformed, NotFound, SourceError
from gradcompat.formats.document import MAX_BYTES, Document, decode
from gradcompat.model.diagnosis import Observation, ReadFile
from gradcompat.model.environment import Environment, Setting, SettingValue, Skipped
from gradcompat.sources import report
from gradcompat.startup.lazy_dataclasses import dataclass, field

_BUFFER = 1 << 16  # as much as is looked at to see what a file is


@dataclass(slots=True)
class RunEvidence:
    """What the files of a run show, as far as they have been read.

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


def read_file(file: str, reading: RunEvidence) -> None:
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


def _points(
    file: str, kind: str, points: Iterable[tuple[dict[str, float], int] | Skipped], reading: RunEvidence
) -> None:
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


class _CurvesOfLog:
    """The curves of a log, which begin with its first step: what a trainer announces, it announces before that."""

    def __init__(self, log: Log, reading: RunEvidence) -> None:
        self._log = log
        self._reading = reading
        self._curves: Curves | None = None

    def add(self, values: Mapping[str, float], line: int) -> None:
        self._begun().add(values, line)

    def add_stretch(self, stretch: Stretch) -> None:
        self._begun().add_stretch(stretch)

    def observations(self) -> list[Observation]:
        return [] if self._curves is None else self._curves.observations()

    def _begun(self) -> Curves:
        if self._curves is None:
            announced = [*self._log.statements.settings.values(), *_excerpted(self._log)]
            self._curves = Curves({**self._reading.configured, **agreed_settings(announced), **self._reading.stated})
        return self._curves


def _log(file: str, stream: BinaryIO, reading: RunEvidence) -> None:
    log = Log.of(file)
    metrics = _CurvesOfLog(log, reading)
    read_log(stream, log, reading.patterns, metrics)
    log.statements.installer.end()
    reading.files.append(ReadFile(path=file, kind="log", lines=log.lines, steps=log.metric_lines))
    reading.evidence.append(
        Evidence(
            path=file,
            hits={text: (hit.count, hit.places) for text, hit in log.hits.items()},
            observations=[*_of_errors(log), *metrics.observations()],
            modules=frozenset(log.modules),
            errors=log.errors,
            echoes=log.echoes,
            open_traceback=log.open_traceback,
            installer=log.statements.installer,
        )
    )
    if log.errors_cut:
        reason = f"has more than {MOST_ERRORS} different errors: the rest are not listed"
        reading.skipped.append(Skipped(what=file, reason=reason, gap=False))
    environment = log.statements.environment(lambda text: _report(file, text), _excerpted(log))
    if environment is not None:
        reading.environments.append(environment)


def _of_errors(log: Log) -> list[Observation]:
    """The errors of a log that explain themselves."""
    return [
        Observation(kind=kind, sentence=ERRORS[kind], lines=lines) for kind, lines in sorted(log.telling_errors.items())
    ]


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
    from gradcompat.audit.logged_settings import settings_of

    return settings_of(found, log.path)


def agreed_settings(settings: Sequence[Setting]) -> dict[str, SettingValue]:
    """The settings of which every place says the same."""
    values: dict[str, set[SettingValue | None]] = {}
    for setting in settings:
        values.setdefault(setting.key, set()).add(setting.value)
    return {key: value for key, (value, *others) in values.items() if not others and value is not None}
