"""The symptoms of the records, made ready to be looked for in logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradcompat.diagnosis.anchors import ignores_case, pieces
from gradcompat.model.issue import Issue
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.symptom_parts import parts, reach, unmatchable

_WINDOW = 4_000  # characters that a pattern is tried on at once
_OVERLAP = 1_000
_SHORTEST_WRAPPED = 60  # no terminal is narrower; a shorter line has not been wrapped
_HEAD = "Traceback (most recent call last)"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One expression, whichever records have it among their symptoms."""

    text: str
    expression: re.Pattern[str]
    pieces: tuple[bytes, ...]
    caseless: bool
    reach: int = 0  # how many letters above the line that holds a piece it may begin


def patterns_of(issues: Iterable[Issue]) -> tuple[tuple[Pattern, ...], tuple[tuple[str, str], ...]]:
    """Every distinct pattern of these records, and what cannot be searched for, as pairs of a text and a reason."""
    patterns: dict[str, Pattern] = {}
    useless: dict[str, str] = {}
    for text in dict.fromkeys(symptom for issue in issues for symptom in issue.symptoms):
        try:
            expression = re.compile(text)
            reason = unmatchable(text)
            if reason is not None:
                useless[text] = reason
                continue
            # The last part is the message, and stands below the others.
            patterns[text] = Pattern(text, expression, pieces(parts(text)[-1]), ignores_case(text), reach(text))
        except re.error as error:
            useless[text] = f"is not a regular expression: {error}"
        except ValueError:
            useless[text] = "has no words that a line could be searched for"
    return tuple(patterns.values()), tuple(useless.items())


def find(pattern: Pattern, text: str) -> int | None:
    """Where in a line the pattern matches; Windows' paths are read with slashes."""
    if len(text) <= _WINDOW and "\\" not in text:
        match = pattern.expression.search(text)
        return None if match is None else match.start()
    for start in range(0, max(1, len(text) - _OVERLAP), _WINDOW - _OVERLAP):
        piece = text[start : start + _WINDOW]
        match = pattern.expression.search(piece)
        if match is None and "\\" in piece and "/" in pattern.text:
            match = pattern.expression.search(piece.replace("\\", "/"))
        if match is not None:
            return start + match.start()
    return None


# What tells a line's beginning or end, or what does not stand beside the match: it is another in a text of many lines.
_OF_LINES = lazy_pattern(r"\(\?<?!|\(\?[>(]|[*+?}]\+|\\[AZB]|(?<!\[)\^|\$")


def may_match_in(pattern: Pattern, text: str) -> bool:
    """Whether the pattern may match in a line of a text; if not, it matches in none of them, nor in a part of one."""
    return _OF_LINES.search(pattern.text) is not None or pattern.expression.search(text) is not None


def find_wrapped(pattern: Pattern, texts: Sequence[str], lengths: Sequence[int], middle: int) -> tuple[int, int] | None:
    """Where the pattern matches in a line and its neighbours, taken for one line that a terminal has wrapped.

    Args:
        pattern: what is looked for.
        texts: a few lines in their order.
        lengths: how long they are with prefix and frame.
        middle: which of them holds a piece of it.

    Returns:
        The index of the line that the match begins in, and where in it.
    """
    first = middle
    while first > 0 and lengths[first - 1] >= _SHORTEST_WRAPPED:
        first -= 1
    last = middle
    while last + 1 < len(texts) and lengths[last] >= _SHORTEST_WRAPPED:
        last += 1
    if first == last:
        return None
    lines = [texts[first], *(text.lstrip() for text in texts[first + 1 : last + 1])]
    for glue in ("", " "):  # cut at a column, or between words
        offset = find(pattern, glue.join(lines))
        if offset is not None:
            for index, line in enumerate(lines):
                if offset < len(line) + len(glue):
                    return first + index, offset
                offset -= len(line) + len(glue)
    return None


def ends_traceback(pattern: Pattern, above: Sequence[str], text: str) -> bool:
    """Whether the pattern begins in the lines of the traceback above and ends in this line."""
    heads = [index for index, line in enumerate(above) if _HEAD in line]
    lines = [*above[heads[-1] if heads else 0 :], text]
    joined = "\n".join(lines)
    if "/" in pattern.text:
        joined = joined.replace("\\", "/")
    start = len(joined) - len(text)
    return any(match.end() > start for match in pattern.expression.finditer(joined))
