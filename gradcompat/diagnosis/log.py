"""Reads one log: which symptoms it shows and where, its metrics, its environment, the errors that it ends in.

Lines of a log repeat each other but for their numbers. Each block is therefore taken as the set of its shapes (lines
without digits and signs); a shape is looked at once, and the lines themselves only where their shape may matter. Where
a text does not repeat itself, the block is searched as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from gradcompat.diagnosis.anchors import DELETED, any_of
from gradcompat.diagnosis.lines import Block, blocks, cleaned, segments, shown
from gradcompat.diagnosis.metrics import HINTS, parse_line
from gradcompat.diagnosis.report_in_log import SETTING_ANCHORS, STATEMENT_ANCHORS, Statements
from gradcompat.diagnosis.symptoms import Pattern, find, find_wrapped

_MOST_SHAPES = 50_000
_MOST_SHAPE_BYTES = 16 << 20
_LONGEST_SHAPE = 2_000
_DIRECT_BLOCKS = 16  # that are searched as a whole before shapes are tried again
_KEPT = 5  # places of a symptom
_ENOUGH = 10_000  # places after which a symptom is not looked for any more
_BESIDE = 2  # lines that a wrapped message may reach back or ahead
_MOST_ERRORS = 20

_METRICS = tuple(hint.encode().translate(None, DELETED) for hint in HINTS)
_STATEMENTS = (*STATEMENT_ANCHORS, *SETTING_ANCHORS)
_ERRORS = (b"Error", b"Exception")
_FRAMES = (b"packages/", b"packages\\")  # `site-packages`, `dist-packages`

_FRAME = re.compile(r"(?:site|dist)-packages[/\\](\w{1,60})")
_ERROR = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)(?:: \S.*|:?)")
# They say that another process failed, not why.
_ECHOES = ("ChildFailedError", "CalledProcessError", "RayTaskError", "BrokenPipeError")


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
        errors: the first line and the text of each error, without those that only repeat another.
        lines: how many lines it has.
        metric_lines: how many of them state metrics.
    """

    path: str
    hits: dict[str, Hit] = field(default_factory=dict)
    statements: Statements
    modules: set[str] = field(default_factory=set)
    errors: dict[str, int] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to do with the lines of a shape."""

    patterns: tuple[Pattern, ...]
    metrics: bool
    statement: bool
    error: bool
    frame: bool


@dataclass(slots=True)
class _Lines:
    """The segments of a block with their shapes, behind the last ones of the block before.

    Attributes:
        numbers: the line of each.
        again: how many of them were in the block before, and are only here for a message that is wrapped.
    """

    numbers: Sequence[int]
    segments: list[bytes]
    shapes: list[bytes]
    again: int


class _Reading:
    """Goes over the blocks of one log."""

    def __init__(
        self, log: Log, patterns: tuple[Pattern, ...], metrics: Callable[[Mapping[str, float], int], None]
    ) -> None:
        self.log = log
        self._patterns = patterns
        self._metrics = metrics
        exact = {one for pattern in patterns if not pattern.caseless for one in pattern.pieces}
        caseless = {one for pattern in patterns if pattern.caseless for one in pattern.pieces}
        self._rare = any_of(exact.union(_STATEMENTS, _ERRORS, _FRAMES), caseless)
        # The words for metrics begin with frequent letters. Most text holds none of them, which is quickly seen.
        self._all = any_of(exact.union(_STATEMENTS, _ERRORS, _FRAMES, _METRICS), caseless)
        self._plain: set[bytes] = set()
        self._plain_bytes = 0
        self._plans: dict[bytes, _Plan] = {}
        self._plan_bytes = 0
        self._carried = _Lines([], [], [], 0)
        self._direct = 0

    def take(self, block: Block) -> None:
        stripped = block.data.translate(None, DELETED)
        if b"\r" in stripped:
            stripped = stripped.replace(b"\r", b"\n")
        self._forget()
        shapes: list[bytes] | None = None
        if self._direct:
            self._direct -= 1
            wanted = self._search(stripped)
        else:
            shapes = stripped.split(b"\n")
            wanted = self._compare(set(shapes))
        self.log.lines = block.first + block.ends - block.data.endswith(b"\n")
        if not wanted and not self.log.statements.in_table:
            wanted = any(shape in self._plans for shape in self._carried.shapes)
        if wanted or self.log.statements.in_table:
            lines = self._lines(block, stripped.split(b"\n") if shapes is None else shapes)
            self._walk(lines)
            self._carried = _last(lines)
        else:
            self._carried = _end(block)

    def _compare(self, shapes: set[bytes]) -> bool:
        """Is there a line whose shape matters? Shapes not met before are searched."""
        new = shapes - self._plain
        new.difference_update(self._plans)
        self._search(b"\n".join(new))
        if len(new) * 2 > len(shapes) > 1_000:
            self._direct = _DIRECT_BLOCKS
        wanted = any(shape in self._plans for shape in shapes)
        for shape in new:
            if len(shape) <= _LONGEST_SHAPE and shape not in self._plans:
                self._plain.add(shape)
                self._plain_bytes += len(shape)
        return wanted

    def _forget(self) -> None:
        """Let go of what fills the memory; between blocks, since a block's own shapes are needed to its end."""
        if len(self._plain) > _MOST_SHAPES or self._plain_bytes > _MOST_SHAPE_BYTES:
            self._plain, self._plain_bytes = set(), 0
        if len(self._plans) > _MOST_SHAPES or self._plan_bytes > _MOST_SHAPE_BYTES:
            self._plans, self._plan_bytes = {}, 0
            for shape in self._carried.shapes:
                self._plan(shape)

    def _search(self, text: bytes) -> bool:
        """Plan what to do with each line of a text (of shapes) that holds an anchor; is there one?"""
        found = False
        wanted = self._all if any(one in text for one in _METRICS) else self._rare
        match = wanted.search(text)
        while match is not None:
            start = text.rfind(b"\n", 0, match.start()) + 1
            end = text.find(b"\n", match.end())
            end = len(text) if end < 0 else end
            shape = text[start:end]
            if shape in self._plans or self._plan(shape):
                found = True
            match = wanted.search(text, end)
        return found

    def _plan(self, shape: bytes) -> bool:
        """Plan what to do with lines of that shape, if anything."""
        lowered = shape.lower()
        plan = _Plan(
            patterns=tuple(pattern for pattern in self._patterns if pattern.among(shape, lowered)),
            metrics=any(one in shape for one in _METRICS),
            statement=any(one in shape for one in _STATEMENTS),
            error=any(one in shape for one in _ERRORS),
            frame=any(one in shape for one in _FRAMES),
        )
        if not (plan.patterns or plan.metrics or plan.statement or plan.error or plan.frame):
            return False
        self._plans[shape] = plan
        self._plan_bytes += len(shape)
        return True

    def _lines(self, block: Block, shapes: list[bytes]) -> _Lines:
        carried = self._carried
        numbers: Sequence[int]
        if b"\r" in block.data:
            numbers, parts = map(list, zip(*segments(block), strict=True))
        else:
            parts = block.data.split(b"\n")
            if not parts[-1]:  # what follows the last line end is no line
                parts.pop()
            numbers = range(block.first, block.first + len(parts))
        if not carried.numbers:
            return _Lines(numbers, parts, shapes, 0)
        return _Lines(
            [*carried.numbers, *numbers],
            carried.segments + parts,
            carried.shapes + shapes,
            len(carried.numbers),
        )

    def _walk(self, lines: _Lines) -> None:
        """Go to each line whose shape matters; below the head of a table, to every line."""
        plans, statements = self._plans, self.log.statements
        wanted = [index for index, shape in enumerate(lines.shapes) if shape in plans]
        index, following = lines.again if statements.in_table else 0, 0
        while index < len(lines.segments):
            if not statements.in_table:
                while following < len(wanted) and wanted[following] < index:
                    following += 1
                if following == len(wanted) or wanted[following] >= len(lines.segments):
                    break
                index = wanted[following]
            plan = plans.get(lines.shapes[index])
            text = cleaned(lines.segments[index])
            if plan is not None and plan.patterns:
                self._symptoms(plan, text, lines, index)
            if index >= lines.again:
                self._once(lines.numbers[index], text, plan)
            index += 1

    def _once(self, number: int, text: str, plan: _Plan | None) -> None:
        statements = self.log.statements
        if statements.in_table or (plan is not None and plan.statement):
            statements.see(number, text)
        if plan is None:
            return
        if plan.metrics:
            values = parse_line(text)
            if values is not None:
                self.log.metric_lines += 1
                self._metrics(values, number)
        if plan.error and len(self.log.errors) < _MOST_ERRORS and _is_error(text):
            self.log.errors.setdefault(shown(text), number)
        if plan.frame:
            for frame in _FRAME.finditer(text[:_LONGEST_SHAPE]):
                self.log.modules.add(frame[1])

    def _symptoms(self, plan: _Plan, text: str, lines: _Lines, index: int) -> None:
        near: tuple[list[str], list[int], int] | None = None
        for pattern in plan.patterns:
            hit = self.log.hits.get(pattern.text)
            if hit is not None and hit.count >= _ENOUGH:
                continue
            at = None if index < lines.again else find(pattern, text)
            if at is not None:
                self._hit(pattern, lines.numbers[index], shown(text, at))
                continue
            if plan.metrics or (hit is not None and len(hit.places) >= _KEPT):
                continue
            if near is None:
                near = _near(lines, index)
            wrapped = find_wrapped(pattern, *near)
            if wrapped is not None:
                number = lines.numbers[index - near[2] + wrapped[0]]
                seen = self.log.hits.get(pattern.text)
                if seen is None or number not in seen.places:
                    self._hit(pattern, number, shown(near[0][wrapped[0]], wrapped[1]))

    def _hit(self, pattern: Pattern, number: int, text: str) -> None:
        hit = self.log.hits.setdefault(pattern.text, Hit())
        hit.count += 1
        if len(hit.places) < _KEPT:
            hit.places.setdefault(number, text)


def _last(lines: _Lines) -> _Lines:
    """The last lines of a block, for the next one: a message may begin in them."""
    end = len(lines.segments)
    start = max(0, end - _BESIDE)
    return _Lines(list(lines.numbers[start:end]), lines.segments[start:end], lines.shapes[start:end], 0)


def _end(block: Block) -> _Lines:
    """The same for a block whose lines were not looked at."""
    end = block.data[-2 * _LONGEST_SHAPE :]
    complete = end.endswith(b"\n")
    parts = [line.rpartition(b"\r")[2] for line in (end[:-1] if complete else end).split(b"\n")[-_BESIDE:]]
    last = block.first + block.ends - complete
    numbers = range(last - len(parts) + 1, last + 1)
    return _Lines(numbers, parts, [part.translate(None, DELETED) for part in parts], 0)


def _near(lines: _Lines, index: int) -> tuple[list[str], list[int], int]:
    """A line and its neighbours: their texts, how long they were, and which of them it is."""
    first = max(0, index - _BESIDE)
    around = [segment[:_LONGEST_SHAPE] for segment in lines.segments[first : index + _BESIDE + 1]]
    lengths = [len(one.decode("utf-8", "replace").rstrip()) for one in around]
    return [cleaned(one) for one in around], lengths, index - first


def _is_error(text: str) -> bool:
    return _ERROR.fullmatch(text) is not None and not any(echo in text for echo in _ECHOES)
