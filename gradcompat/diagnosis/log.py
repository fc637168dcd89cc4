"""Reads one log: which symptoms it shows and where, its metrics, its environment, the errors that it ends in.

Each block is searched for all words that matter, in one pass; only the lines that hold one are looked at. Below the
head of a table of versions every line is, to the table's end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from gradcompat.diagnosis.anchors import Anchors
from gradcompat.diagnosis.devices_in_log import DEVICE_ANCHORS
from gradcompat.diagnosis.error_lines import ERROR_ANCHORS, TRACEBACK_ANCHOR, error_in, is_echo, kind_of
from gradcompat.diagnosis.lines import Block, Passage, blocks, cleaned, shown
from gradcompat.diagnosis.metric_shapes import MetricLines
from gradcompat.diagnosis.metrics import HINTS
from gradcompat.diagnosis.print_formats import methods_printed_by, printed_by
from gradcompat.diagnosis.report_in_log import SETTING_ANCHORS, STATEMENT_ANCHORS, Statements
from gradcompat.diagnosis.symptoms import Pattern, ends_traceback, find, find_wrapped

_LONGEST_WRAPPED = 2_000
_KEPT = 5  # places of a symptom
_ENOUGH = 10_000  # places after which a symptom is not looked for any more
_BESIDE = 2  # lines that a wrapped message may reach back or ahead
_ABOVE = 16  # lines of a traceback that a symptom of several lines may reach back
MOST_ERRORS = 20
_FORMS = 20  # lines of metrics whose form is looked at
_MOST_MARKS = 1_000  # combinations of patterns that are kept

# What a line may hold, as bits; above them there is one for each pattern.
_METRICS, _STATEMENT, _ERROR, _FRAME, _TRACEBACK = 1, 2, 4, 8, 16
_FIRST_PATTERN = 5

_FRAME_NAME = re.compile(r"(?:site|dist)-packages[/\\](\w{1,60})")
# What the line of an error begins with, the prefix of its rank or host or a frame before it: source code does not.
_ERROR_BEGINS = re.compile(rb"[A-Za-z_\[(\x80-\xff]|[\s\x1c-\x1f]{0,5}[\d\x80-\xff]")


@dataclass(slots=True)
class Hit:
    """One pattern in one log: how often, and the first places with their text."""

    count: int = 0
    places: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Log:
    """What one log shows.

    Attributes:
        path: how it is shown.
        hits: text of a pattern → where it was seen.
        statements: lines about its environment.
        modules: packages that tracebacks pass through, by the names of their folders.
        errors: the text and the first line of each error, without those that only repeat another.
        echoes: the same of those that say that another process failed.
        telling_errors: kind of observation → the first lines of the errors that are one by themselves.
        open_traceback: the line of the last traceback if no error follows it.
        errors_cut: there are more errors than are kept.
        lines: how many lines it has.
        metric_lines: how many of them state metrics.
    """

    path: str
    hits: dict[str, Hit] = field(default_factory=dict)
    statements: Statements
    modules: set[str] = field(default_factory=set)
    errors: dict[str, int] = field(default_factory=dict)
    echoes: dict[str, int] = field(default_factory=dict)
    telling_errors: dict[str, tuple[int, ...]] = field(default_factory=dict)
    open_traceback: int | None = None
    errors_cut: bool = False
    lines: int = 0
    metric_lines: int = 0

    @classmethod
    def of(cls, path: str) -> Log:
        """A log of which nothing is read yet."""
        return cls(path=path, statements=Statements(path))


def read_log(
    stream: BinaryIO, log: Log, patterns: tuple[Pattern, ...], metrics: Callable[[Mapping[str, float], int], None]
) -> None:
    """Read a log to its end.

    Args:
        stream: where it comes from.
        log: what is seen goes in here.
        patterns: the symptoms to look for.
        metrics: takes the metrics of each line that states some, and the number of the line.

    Raises:
        Malformed: if it is binary or compressed.
        NotFound: if it cannot be read on.
    """
    reading = _Reading(log, patterns, metrics)
    for block in blocks(stream, log.path):
        reading.take(block)


# How transformers hands on what a module that it loads when it is needed has failed with: the error stands below.
_CAUSE_BELOW = " because of the following error (look up to see its traceback):"


class _Reading:
    """Goes over the blocks of one log."""

    def __init__(
        self, log: Log, patterns: tuple[Pattern, ...], metrics: Callable[[Mapping[str, float], int], None]
    ) -> None:
        self.log = log
        self._metrics = metrics
        self._metric_lines = MetricLines()
        self._patterns = {1 << bit: pattern for bit, pattern in enumerate(patterns, start=_FIRST_PATTERN)}
        self._anchors = _anchors(self._patterns)
        self._wanted = ~0  # the bits that are still looked for
        self._of_marks: dict[int, tuple[tuple[int, Pattern], ...]] = {}
        self._carried: tuple[tuple[int, bytes], ...] = ()

    def take(self, block: Block) -> None:
        passage = Passage(block, self._carried)
        following = self._table(passage, passage.start)
        for start, end, marks in self._anchors.lines(passage.text):
            marks &= self._wanted  # noqa: PLW2901 - a symptom that was seen often enough
            segment = passage.text[start:end]
            again = start < passage.start
            if marks == _METRICS and not again:
                self._metric(segment, passage, start)
                continue
            if marks == _ERROR and not _ERROR_BEGINS.match(segment):
                continue
            text = cleaned(segment)
            if marks >= 1 << _FIRST_PATTERN:
                self._symptoms(marks, text, passage, start, end)
            if again:
                continue
            if marks & _STATEMENT and start >= following:
                self.log.statements.see(passage.number(start), text)
                following = self._table(passage, end + 1)
            if marks & _METRICS:
                self._metric(segment, passage, start)
            if marks & (_ERROR | _FRAME | _TRACEBACK):
                self._trace(marks, text, passage, start)
        self.log.lines = block.first + block.ends - block.data.endswith(b"\n")
        self._carried = passage.last(_ABOVE, _LONGEST_WRAPPED)

    def _table(self, passage: Passage, start: int) -> int:
        """Below the head of a table of versions, read every line from there to its end; where the next one begins."""
        statements = self.log.statements
        while statements.in_table and start < len(passage.text):
            end = passage.end_of(start)
            statements.see(passage.number(start), cleaned(passage.text[start:end]))
            start = end + 1
        return start

    def _metric(self, segment: bytes, passage: Passage, start: int) -> None:
        values = self._metric_lines.parse(segment)
        if values is not None:
            self.log.metric_lines += 1
            if self.log.metric_lines <= _FORMS and (form := printed_by(segment)):
                self.log.statements.printed_by(passage.number(start), *form)
                if methods := methods_printed_by(segment):
                    self.log.statements.printed_by(passage.number(start), "training.method", methods)
            self._metrics(values, passage.number(start))

    def _trace(self, marks: int, text: str, passage: Passage, start: int) -> None:
        if marks & _TRACEBACK:
            self.log.open_traceback = passage.number(start)
        error = error_in(text) if marks & _ERROR else None
        if error is not None:
            self.log.open_traceback = None
            if error.endswith(_CAUSE_BELOW):
                below = passage.end_of(start) + 1
                cause = cleaned(passage.text[below : passage.end_of(below)]).strip()
                error = f"{error.removesuffix(_CAUSE_BELOW)}: {cause}" if cause else error
            self._error(error, passage.number(start))
        if marks & _FRAME:
            for frame in _FRAME_NAME.finditer(text[:_LONGEST_WRAPPED]):
                self.log.modules.add(frame[1])

    def _error(self, error: str, number: int) -> None:
        seen = self.log.echoes if is_echo(error) else self.log.errors
        text = shown(error)
        if text in seen:
            return
        if len(seen) >= MOST_ERRORS:
            self.log.errors_cut = True
            return
        seen[text] = number
        kind = kind_of(error)
        if kind is not None:
            self.log.telling_errors[kind] = (*self.log.telling_errors.get(kind, ()), number)

    def _symptoms(self, marks: int, text: str, passage: Passage, start: int, end: int) -> None:
        near: tuple[list[int], list[str], list[int], int] | None = None
        patterns = self._of_marks.get(marks)
        if patterns is None:
            patterns = tuple((mark, pattern) for mark, pattern in self._patterns.items() if marks & mark)
            if len(self._of_marks) < _MOST_MARKS:
                self._of_marks[marks] = patterns
        for mark, pattern in patterns:
            hit = self.log.hits.get(pattern.text)
            at = None if start < passage.start else find(pattern, text)
            if at is not None:
                self._hit(mark, passage.number(start), shown(text, at))
                continue
            if pattern.reach:
                if start >= passage.start and ends_traceback(pattern, _above(passage, start), text):
                    self._hit(mark, passage.number(start), shown(text))
                continue
            if marks & _METRICS or (hit is not None and len(hit.places) >= _KEPT):
                continue
            if near is None:
                near = _near(passage, start, end)
            starts, texts, lengths, middle = near
            wrapped = find_wrapped(pattern, texts, lengths, middle)
            if wrapped is not None:
                number = passage.number(starts[wrapped[0]])
                if hit is None or number not in hit.places:
                    self._hit(mark, number, shown(texts[wrapped[0]], wrapped[1]))

    def _hit(self, mark: int, number: int, text: str) -> None:
        hit = self.log.hits.setdefault(self._patterns[mark].text, Hit())
        hit.count += 1
        if len(hit.places) < _KEPT:
            hit.places.setdefault(number, text)
        if hit.count >= _ENOUGH:
            self._wanted &= ~mark


def _anchors(patterns: Mapping[int, Pattern]) -> Anchors:
    exact: dict[bytes, int] = {}
    caseless = {hint.encode().lower(): _METRICS for hint in HINTS}  # who reads the line looks at the case
    anchors = [
        *((anchor, _STATEMENT) for anchor in (*STATEMENT_ANCHORS, *SETTING_ANCHORS, *DEVICE_ANCHORS)),
        *((anchor, _ERROR) for anchor in ERROR_ANCHORS),
        (TRACEBACK_ANCHOR, _TRACEBACK),
        *((one, _FRAME) for one in (b"packages/", b"packages\\")),  # `site-packages`, `dist-packages`
    ]
    for mark, pattern in patterns.items():
        for piece in pattern.pieces:
            if pattern.caseless:
                caseless[piece] = caseless.get(piece, 0) | mark
            else:
                anchors.append((piece, mark))
    for piece, mark in anchors:
        exact[piece] = exact.get(piece, 0) | mark
    return Anchors(exact, caseless)


def _near(passage: Passage, start: int, end: int) -> tuple[list[int], list[str], list[int], int]:
    """A line and its neighbours: where they begin, their texts, how long they were, and which of them it is."""
    spans = [*passage.before(start, _BESIDE), (start, end), *passage.behind(end, _BESIDE)]
    starts = [first for first, _ in spans]
    around = [passage.text[first : min(last, first + _LONGEST_WRAPPED)] for first, last in spans]
    lengths = [len(line.decode("utf-8", "replace").rstrip()) for line in around]
    return starts, [cleaned(line) for line in around], lengths, starts.index(start)


def _above(passage: Passage, start: int) -> list[str]:
    """The lines above the one that begins there."""
    spans = passage.before(start, _ABOVE)
    return [cleaned(passage.text[first : min(last, first + _LONGEST_WRAPPED)]) for first, last in spans]
