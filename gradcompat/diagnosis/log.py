"""Reads one log: which symptoms it shows and where, its metrics, its environment, the errors that it ends in.

Each block is searched for all words that matter, in one pass; only the lines that hold one are looked at. Below the
head of a table of versions every line is, to the table's end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, compress
from typing import BinaryIO, Protocol

from gradcompat.diagnosis.anchors import Anchors
from gradcompat.diagnosis.devices_in_log import DEVICE_ANCHORS
from gradcompat.diagnosis.error_lines import (
    ERROR_ANCHORS,
    TRACEBACK_ANCHOR,
    error_in,
    is_echo,
    kind_in_build,
    kind_of,
)
from gradcompat.diagnosis.lines import Block, Passage, blocks, cleaned, shown
from gradcompat.diagnosis.metric_forms import Form, FormRows, Forms
from gradcompat.diagnosis.metric_shapes import MetricLines
from gradcompat.diagnosis.metrics import HINTS
from gradcompat.diagnosis.print_formats import methods_printed_by, printed_by
from gradcompat.diagnosis.report_in_log import SETTING_ANCHORS, STATEMENT_ANCHORS, Statements
from gradcompat.diagnosis.stretches import Stretch
from gradcompat.diagnosis.symptoms import Pattern, ends_traceback, find, find_wrapped, may_match_in
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST_WRAPPED = 2_000
_KEPT = 5  # places of a symptom
_ENOUGH = 10_000  # places after which a symptom is not looked for any more
_BESIDE = 2  # lines that a wrapped message may reach back or ahead
_ABOVE = 16  # lines of a traceback that a symptom of several lines may reach back
MOST_ERRORS = 20
_FORMS = 20  # lines of metrics whose form is looked at
_PIECE = 1 << 15  # bytes that are read at once if most lines in them have one form
_SHARE = 4  # one line of so many must have it
_MOST_MARKS = 1_000  # combinations of patterns that are kept

# What a line may hold, as bits; above them there is one for each pattern.
_METRICS, _STATEMENT, _ERROR, _FRAME, _TRACEBACK = 1, 2, 4, 8, 16
_FIRST_PATTERN = 5

_FRAME_NAME = lazy_pattern(r"(?:site|dist)-packages[/\\](\w{1,60})")
# What the line of an error begins with, the prefix of its rank or host or a frame before it: source code does not.
_ERROR_BEGINS = lazy_pattern(rb"[A-Za-z_\[(\x80-\xff]|[\s\x1c-\x1f]{0,5}[\d\x80-\xff]")


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


class Metrics(Protocol):
    """Takes the metrics of a log in the order of its lines."""

    def add(self, values: Mapping[str, float], line: int, /) -> None:
        """Take those of a line, given its number."""

    def add_stretch(self, stretch: Stretch, /) -> None:
        """Take those of many lines of one form."""


def read_log(stream: BinaryIO, log: Log, patterns: tuple[Pattern, ...], metrics: Metrics) -> None:
    """Read a log to its end.

    Args:
        stream: where it comes from.
        log: what is seen goes in here.
        patterns: the symptoms to look for.
        metrics: takes the metrics of each line that states some.

    Raises:
        Malformed: if it is binary or compressed.
        NotFound: if it cannot be read on.
    """
    reading = _Reading(log, patterns, metrics)
    for block in blocks(stream, log.path):
        reading.take(block)


# Up to Python 3.9 the message leaves out whose it is, which the line of code above it says.
_NAMELESS = "TypeError: __init__() got an unexpected keyword argument "
_MADE = lazy_pattern(r"\b([A-Z]\w{0,80})\(")
_NO_MODULE = "ModuleNotFoundError: "
_MOST_CAUSES = 4
_MOST_BELOW = 3  # lines in which a message may begin that the line of its error leaves to the next
# How transformers hands on what a module that it loads when it is needed has failed with: the error stands below.
_CAUSE_BELOW = " because of the following error (look up to see its traceback):"


class _Reading:
    """Goes over the blocks of one log."""

    def __init__(self, log: Log, patterns: tuple[Pattern, ...], metrics: Metrics) -> None:
        self.log = log
        self._metrics = metrics
        self._metric_lines = MetricLines()
        self._forms = Forms()
        self._marks_of: dict[Form | None, int] = {}  # what lines of a form may hold
        self._form: Form | None = None  # of most lines of late
        self._latest = b""  # the last line that states metrics, but for those that were read by their form
        self._following = 0  # where in the passage the lines begin that belong to no table
        self._indent = 0  # of the head of the last traceback
        self._before_line: Callable[[], None] | None = None  # hands over the metrics of the lines before
        self._patterns = {1 << bit: pattern for bit, pattern in enumerate(patterns, start=_FIRST_PATTERN)}
        self._anchors = _anchors(self._patterns)
        self._wanted = ~0  # the bits that are still looked for
        self._of_marks: dict[int, tuple[tuple[int, Pattern], ...]] = {}
        self._carried: tuple[tuple[int, bytes], ...] = ()

    def take(self, block: Block) -> None:
        passage = Passage(block, self._carried)
        self._following = self._table(passage, passage.start)
        for start, end in passage.pieces(_PIECE):
            if self._form is None or start < passage.start or not self._by_form(self._form, passage, start, end):
                self._by_line(passage, start, end)
        self.log.lines = block.first + block.ends - block.data.endswith(b"\n")
        self._carried = passage.last(_ABOVE, _LONGEST_WRAPPED)

    def _by_line(self, passage: Passage, start: int, end: int) -> None:
        """Read the lines between two places, and see whether most of them have one form."""
        stated = self.log.metric_lines
        for first, last, marks in self._anchors.lines(passage.text[start:end]):
            self._line(passage, start + first, start + last, marks)
        stated = self.log.metric_lines - stated
        if stated >= _FORMS and stated * _SHARE >= passage.text.count(b"\n", start, end):
            self._form = self._known_form(self._latest)

    def _known_form(self, line: bytes) -> Form | None:
        """The form of a line, if lines of that form may hold nothing but metrics and symptoms."""
        form = self._forms.of(line)
        if form is not None and form not in self._marks_of:
            self._marks_of[form] = self._anchors.possible(form.text, form.free)
        return None if self._marks_of.get(form, 0) & (_STATEMENT | _ERROR | _FRAME | _TRACEBACK) else form

    def _by_form(self, form: Form, passage: Passage, start: int, end: int) -> bool:
        """Read the lines between two places, those of the form all at once; False if they may show a symptom."""
        marks = self._marks_of[form] & self._wanted
        if marks >= 1 << _FIRST_PATTERN:
            text = passage.text[start:end].decode("utf-8", "replace")
            if any(may_match_in(pattern, text) for _, pattern in self._patterns_of(marks)):
                return False
        lines = FormRows(form, passage.text, start, end)
        number = passage.numbers(start, end)
        handed = 0

        def hand_over(before: int) -> None:
            nonlocal handed
            if handed < before:
                self.log.metric_lines += before - handed
                self._metrics.add_stretch(lines.stretch(handed, before, number))
                handed = before

        others = 0
        if len(lines.rows) < lines.count:
            stated = self.log.metric_lines
            for index, first, last, marks in self._others(lines, passage.text, start, end):
                self._before_line = partial(hand_over, bisect_left(lines.rows, index))
                self._line(passage, first, last, marks)
            self._before_line = None
            others = self.log.metric_lines - stated - handed
        hand_over(len(lines.rows))
        if others > len(lines.rows) or len(lines.rows) * _SHARE < lines.count:
            self._form = self._known_form(self._latest) if others >= _FORMS else None
        return True

    def _others(self, lines: FormRows, text: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Lines of other forms that hold an anchor: which, where they begin and end, and their marks."""
        joined = b"".join(lines.others)
        places: list[int] = []
        indices: list[int] = []
        counted = passed = 0
        for first, last, marks in self._anchors.lines(joined):
            if not places:
                lengths = (len(line) + 1 for line in text[start:end].split(b"\n"))
                places = list(accumulate(lengths, initial=start))
                indices = list(compress(range(lines.count), lines.others))
            passed += joined.count(b"\n", counted, first)
            counted = first
            index = indices[passed]
            yield index, places[index], places[index] + last - first, marks

    def _line(self, passage: Passage, start: int, end: int, marks: int) -> None:
        marks &= self._wanted  # a symptom may have been seen often enough
        segment = passage.text[start:end]
        again = start < passage.start
        if marks == _METRICS and not again:
            self._metric(segment, passage, start)
            return
        if marks == _ERROR and not _ERROR_BEGINS.match(segment) and not self._of_indented(segment):
            return
        text = cleaned(segment)
        # What a build does not see says nothing of what the run sees.
        if marks >= 1 << _FIRST_PATTERN and not (self.log.statements.installer.building and _NO_MODULE in text):
            self._symptoms(marks, text, passage, start, end)
        if again:
            return
        if marks & _STATEMENT and start >= self._following:
            self.log.statements.see(passage.number(start), text)
            self._following = self._table(passage, end + 1)
        if marks & _METRICS:
            self._metric(segment, passage, start)
        if marks & (_ERROR | _FRAME | _TRACEBACK):
            self._trace(marks, text, passage, start)

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
            if self._before_line is not None:
                self._before_line()
            self._latest = segment
            self.log.metric_lines += 1
            if self.log.metric_lines <= _FORMS and (form := printed_by(segment)):
                self.log.statements.printed_by(passage.number(start), *form)
                if methods := methods_printed_by(segment):
                    self.log.statements.printed_by(passage.number(start), "training.method", methods)
            self._metrics.add(values, passage.number(start))

    def _of_indented(self, segment: bytes) -> bool:
        """Whether the line stands as far to the right as the head of the last traceback, which a build printed."""
        indent = self._indent
        return indent > 0 and segment[:indent].isspace() and not segment[indent : indent + 1].isspace()

    def _trace(self, marks: int, text: str, passage: Passage, start: int) -> None:
        if marks & _TRACEBACK:
            self.log.open_traceback = passage.number(start)
            self._indent = len(text) - len(text.lstrip())
        indented = self._indent > 0 and text[: self._indent].isspace()
        error = error_in(text[self._indent :] if indented else text) if marks & _ERROR else None
        if error is not None:
            self.log.open_traceback = None
            end = passage.end_of(start)
            head = error.removesuffix(_CAUSE_BELOW)
            for _ in range(_MOST_CAUSES):
                if not error.endswith(_CAUSE_BELOW):
                    break
                cause = cleaned(passage.text[end + 1 : passage.end_of(end + 1)]).strip()
                if not cause:
                    break
                # One of several modules that were loaded for each other: the last one has failed by itself.
                error, end = f"{head}: {cause}", passage.end_of(end + 1)
            if error.endswith("Error:"):
                error = f"{error} {_message_below(passage, end)}".rstrip()
            if error.startswith(_NAMELESS):
                above = "".join(cleaned(passage.text[first:last]) for first, last in passage.before(start, 1))
                made = set(_MADE.findall(above[:_LONGEST_WRAPPED]))
                if len(made) == 1:
                    error = error.replace("__init__()", f"{made.pop()}.__init__()", 1)
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
        kind = (kind_in_build if self.log.statements.installer.building else kind_of)(error)
        if kind is not None:
            self.log.telling_errors[kind] = (*self.log.telling_errors.get(kind, ()), number)

    def _symptoms(self, marks: int, text: str, passage: Passage, start: int, end: int) -> None:
        near: tuple[list[int], list[str], list[int], int] | None = None
        for mark, pattern in self._patterns_of(marks):
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

    def _patterns_of(self, marks: int) -> tuple[tuple[int, Pattern], ...]:
        patterns = self._of_marks.get(marks)
        if patterns is None:
            patterns = tuple((mark, pattern) for mark, pattern in self._patterns.items() if marks & mark)
            if len(self._of_marks) < _MOST_MARKS:
                self._of_marks[marks] = patterns
        return patterns

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


def _message_below(passage: Passage, end: int) -> str:
    """The two lines that a message begins with below the line of its error; nothing where they are far off."""
    said: list[str] = []
    for first, last in passage.behind(end, _MOST_BELOW):
        text = cleaned(passage.text[first : min(last, first + _LONGEST_WRAPPED)]).strip()
        if text and len(said) < 2:
            said.append(text)
    return " ".join(said)


def _above(passage: Passage, start: int) -> list[str]:
    """The lines above the one that begins there."""
    spans = passage.before(start, _ABOVE)
    return [cleaned(passage.text[first : min(last, first + _LONGEST_WRAPPED)]) for first, last in spans]
