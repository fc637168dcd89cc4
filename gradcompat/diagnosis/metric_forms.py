"""Lines of metrics in the largest numbers: those of one form are read all at once, by one expression.

The *form* of a line is its text without the numbers and the progress bar in it. What a line of that form states, and
where, is learnt from the parser of :mod:`metrics`, which reads lines that were made for the purpose: with short numbers
and with long ones, with exponents and signs. It knows limits (so many digits, so many characters between two words),
which a short line and a long one keep if all lines between them do. So what is learnt holds for lines whose numbers are
no longer than those; any other line is left to those who read one at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

from gradcompat.diagnosis.lines import cleaned
from gradcompat.diagnosis.metric_shapes import Places, agree, learn
from gradcompat.diagnosis.metrics import parse_line
from gradcompat.diagnosis.stretches import Column, Stretch
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST = 1_000
_MOST_FORMS = 200

# Numbers that stand alone may be of any length; other digits, those of names, versions and addresses, keep theirs.
# A progress bar is drawn with blanks and with the characters from U+2580 on.
_PART = lazy_pattern(
    rb"(?P<bar>(?:^| ) *\d{1,3}%\|[ \x80-\xbf\xe2]{0,150}(?=\|))"
    rb"|(?<![\w.\x80-\xff])(?P<sign>(?<=[ :=\['\"(])-)?(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)(?!\.?\d)"
)
_EXPONENT = lazy_pattern(rb"([\d.]+)(.*)")
_FRACTION = lazy_pattern(rb"\d+\.\d+(?:e-\d\d)?")
_IN_NUMBERS, _IN_BARS = b"0123456789.eE+-", b" %|" + bytes(range(0x80, 0xC0)) + b"\xe2"
_NO_ZERO_RATE = rb"(?!0\.00+\D)"  # what a bar of three digits prints for a small one


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a line that differs among those of a form.

    Attributes:
        start, end: where it stands in the line that the form was learnt from.
        expression: what it looks like.
        samples: a short one, a long one and others.
    """

    start: int
    end: int
    expression: bytes
    samples: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What lines of one form look like, and what they state.

    Attributes:
        expression: finds in a text each line, with the numbers that count of one of this form, or as it is.
        names: the metrics that these numbers are; those that make a step have none.
        constant: the metrics that are not written in digits.
        step: which of the numbers are the epoch, its length and the step in it, and the number of the first epoch,
            where the step of the run is made of these.
        text: a line of the form in lower case.
        free: the bytes that its numbers and its progress bar may consist of.
    """

    expression: re.Pattern[bytes]
    names: tuple[str, ...]
    constant: Mapping[str, float]
    step: tuple[int, int, int, int] | None
    text: bytes
    free: bytes

    def columns(self, groups: Sequence[Sequence[bytes]]) -> dict[str, Column]:
        """The metrics of lines, given their numbers."""
        found: dict[str, Column] = {name: group for name, group in zip(self.names, groups, strict=True) if name}
        if self.step is not None:
            *places, first = self.step
            epochs, lengths, numbers = (groups[place] for place in places)
            if epochs.count(epochs[0]) == lengths.count(lengths[0]) == len(numbers):
                done = (int(epochs[0]) - first) * int(lengths[0])
                found["step"] = list(map(float, map(done.__add__, map(int, numbers))))
                return found
            before = {pair: (int(pair[0]) - first) * int(pair[1]) for pair in set(zip(epochs, lengths, strict=True))}
            found["step"] = [
                float(before[pair] + int(number))
                for pair, number in zip(zip(epochs, lengths, strict=True), numbers, strict=True)
            ]
        return found


class FormRows:
    """The lines of a text, those of a form apart from the others."""

    def __init__(self, form: Form, text: bytes, start: int, end: int) -> None:
        *groups, other = zip(*form.expression.findall(text, start, end), strict=True)
        self._form = form
        self.count = len(other)
        self.others: Sequence[bytes] = other
        self.rows: Sequence[int] = range(self.count)
        if any(other):
            of_form = list(map(not_, other))
            groups = [tuple(compress(group, of_form)) for group in groups]
            self.rows = list(compress(self.rows, of_form))
        self._groups = groups

    def stretch(self, first: int, end: int, number: Callable[[int], int]) -> Stretch:
        """Some of the lines of the form, given the numbers of all lines."""
        rows = self.rows[first:end]
        groups = [group[first:end] for group in self._groups]
        return Stretch(self._form.columns(groups), self._form.constant, lambda index: number(rows[index]), len(rows))


class Forms:
    """Learns forms, and keeps them."""

    def __init__(self) -> None:
        self._learnt: dict[bytes, Form | None] = {}

    def of(self, line: bytes) -> Form | None:
        """The form of a line that states metrics, or None if it cannot be said."""
        if len(line) > _LONGEST or b"\\" in line:
            return None
        key = _PART.sub(_key, line)
        if key not in self._learnt:
            if len(self._learnt) >= _MOST_FORMS:
                return None
            self._learnt[key] = _learn(line)
        return self._learnt[key]


def _key(match: re.Match[bytes]) -> bytes:
    number = match["number"]
    if number is None:
        return b"\0"
    return b"\1" if _FRACTION.fullmatch(number) else (match["sign"] or b"") + re.sub(rb"\d+", b"\2", number)


def _learn(line: bytes) -> Form | None:
    places = learn(line)
    if places is None or "loss_scale_minimum" in places.constant:
        return None
    for widen in (True, False):
        parts = tuple(_parts(line, widen=widen))
        form = _form(line, parts, places)
        if form is not None and all(_reads(form, probe) for probe in _probes(line, parts)):
            return form
    return None


def _parts(line: bytes, *, widen: bool) -> Iterator[_Part]:
    for match in _PART.finditer(line):
        number = match["number"]
        if number is None:
            low = match[0].startswith(b" ")
            expression = rb" {%d,3}\d{1,3}%%\|[ \x80-\xbf\xe2]{0,150}" % low
            bars = (b" " * low + b"1%|", b"   123%|" + b" " * 150, b"  12%|" + b"\xe2\x96\x88" * 50)
            yield _Part(*match.span(), expression, bars)
        elif widen and _FRACTION.fullmatch(number):
            signed = match["sign"] or line[match.start() - 1 : match.start()] in (b" ", b":", b"=", b"'", b'"')
            samples: tuple[bytes, ...] = (
                b"1.2",
                b"123456789." + b"3" * 20,
                b"3.4e-05",
                b"4" * 9 + b"." + b"5" * 20 + b"e-67",
            )
            expression = rb"\d{1,9}\.\d{1,20}(?:e-\d\d)?"
            if signed:
                samples, expression = (*samples, b"-1.5"), b"-?" + expression
            yield _Part(*match.span(), expression, samples)
        else:
            sign, short = match["sign"] or b"", re.sub(rb"\d+", b"1", number)
            mantissa, exponent = _EXPONENT.fullmatch(number).groups()  # type: ignore[union-attr] # has matched already
            expression = re.sub(rb"\d+", rb"\\d{1,9}", re.escape(mantissa))
            expression += re.sub(rb"\d+", rb"\\d{1,2}", re.escape(exponent))
            long = re.sub(rb"\d+", b"234567891", mantissa) + re.sub(rb"\d+", b"23", exponent)
            yield _Part(*match.span(), re.escape(sign) + expression, (sign + short, sign + long))


def _form(line: bytes, parts: Sequence[_Part], places: Places) -> Form | None:
    counted: dict[tuple[int, int], str] = {(place.start, place.stop): name for name, place in places.values}
    made = places.step[:3] if places.step is not None else ()
    for place in made:
        counted.setdefault((place.start, place.stop), "")
    expression, names, groups = b"", [], []
    end = 0
    for part in parts:
        expression += _literal(line[end : part.start])
        span = (part.start, part.end)
        if span in counted:
            name = counted[span]
            names.append(name)
            groups.append(span)
            expression += (_NO_ZERO_RATE if name == "learning_rate" else b"") + b"(" + part.expression + b")"
        else:
            expression += part.expression
        end = part.end
    expression += _literal(line[end:])
    if not groups or len(groups) < len(counted):
        return None
    step = None
    if places.step is not None:
        of_epoch, of_length, of_place = (groups.index((one.start, one.stop)) for one in made)
        step = of_epoch, of_length, of_place, places.step[3]
    return Form(
        expression=re.compile(expression + rb"\n|(.+\n?|\n)"),
        names=tuple(names),
        constant=places.constant,
        step=step,
        text=line.lower(),
        free=_IN_NUMBERS + (_IN_BARS if b"%|" in line else b""),
    )


def _literal(text: bytes) -> bytes:
    return re.sub(rb"\d", rb"\\d", re.escape(text))


def _probes(line: bytes, parts: Sequence[_Part]) -> Iterator[bytes]:
    """The line, and the line with other numbers: all of them short, or long, or anything else; and one by one."""
    yield line
    most = max((len(part.samples) for part in parts), default=0)
    for sample in range(most):
        yield _filled(line, parts, [min(sample, len(part.samples) - 1) for part in parts])
    for index, part in enumerate(parts):
        for sample in range(1, len(part.samples)):
            yield _filled(line, parts, [sample if other == index else 0 for other in range(len(parts))])


def _filled(line: bytes, parts: Sequence[_Part], samples: Sequence[int]) -> bytes:
    """The line with these samples, whose digits are other ones in each part."""
    filled, end = b"", 0
    for index, (part, sample) in enumerate(zip(parts, samples, strict=True)):
        text = part.samples[sample].translate(_turned(index))
        filled += line[end : part.start] + text
        end = part.end
    return filled + line[end:]


def _turned(by: int) -> bytes:
    digits = b"123456789"
    by %= len(digits)
    return bytes.maketrans(digits, digits[by:] + digits[:by])


def _reads(form: Form, line: bytes) -> bool:
    """Does the form say of a line what the parser says?"""
    rows = FormRows(form, line + b"\n", 0, len(line) + 1)
    stated = parse_line(cleaned(line))
    if not rows.rows or stated is None:
        return False
    return agree(rows.stretch(0, 1, lambda _: 0).values()[0][0], stated)
