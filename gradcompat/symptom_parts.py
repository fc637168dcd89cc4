r"""A symptom of several lines: the frame of a traceback and, some letters below, the message that ends it.

It is written as one expression whose parts stand in different lines, ``racs\.py[\s\S]{0,600}The size of tensor a``. A
log is read line by line, so only a gap that says how far it reaches, and stands in no group, can be found there.
"""

from __future__ import annotations

import re

_GAP = re.compile(r"\[\\s\\S\]\{0,(\d{1,4})\}\??")
_LONGEST_GAP = 1_000
# What else a line's end can stand in: `[\s\S]` and the like, a `.` that takes it, the end itself.
_LINE_END = re.compile(r"\[\\(?:s\\S|S\\s|d\\D|D\\d|w\\W|W\\w)\]|\(\?[a-z]*s[a-z]*[:)]|(?<!\[\^)\\n")


def parts(symptom: str) -> tuple[str, ...]:
    r"""The expressions that each have to match in one line, from the first line to the last.

    >>> parts(r"racs\.py[\s\S]{0,600}The size of tensor a")
    ('racs\\.py', 'The size of tensor a')
    """
    return tuple(_GAP.split(symptom)[::2])


def reach(symptom: str) -> int:
    """How many letters lie at most between its parts; 0 where it is of one line."""
    return sum(int(letters) for letters in _GAP.findall(symptom))


def unmatchable(symptom: str) -> str | None:
    """Why no line, and no traceback, can match a symptom that is a regular expression; None if one can."""
    found = parts(symptom)
    if any(_LINE_END.search(part) for part in found):
        return r"a log is read line by line: between the parts of a symptom of several lines stands `[\s\S]{0,400}`"
    if len(found) == 1:
        return None
    if reach(symptom) > _LONGEST_GAP:
        return f"its parts may be {reach(symptom):,} letters apart, and {_LONGEST_GAP:,} are looked at"
    for part in found:
        try:
            re.compile(part)
        except re.error:
            return r"`[\s\S]{0,400}` stands in a group: write one symptom for each alternative"
        if _alternative(part):
            return r"`|` stands beside `[\s\S]{0,400}`: write one symptom for each alternative"
    return None


def _alternative(part: str) -> bool:
    depth = 0
    for piece in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", part, re.DOTALL):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            return True
    return False
