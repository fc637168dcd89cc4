"""Versions that somebody mentions in a sentence: ``I use transformers==4.46.0 with torch 2.5.0 on Python 3.11``.

In a sentence the version of a package counts with at least three numbers, as ``torch 2.1`` may be any 2.1.x; on a line
of its own with two. Bounds do not count, nor what a sentence says to be fixed, to work, or to be needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradcompat.requirements.spoken_names import package_called, pattern_of_names
from gradcompat.sources.typed_versions import TypedVersion
from gradcompat.startup.lazy_patterns import lazy_pattern

_NAME = rf"({pattern_of_names()}|[Pp]ython)"
_BESIDE = r"\s{0,3}(?:===?|=|:|@)\s{0,3}|\s{1,3}(?:\(|[Vv]ersion:?\s{1,3})?"
_MOVED = r"\s{1,3}from\s{1,3}v?\d[\w.+]{0,30}\s{1,3}to\s{1,3}(?:version\s{1,3})?"
_BETWEEN = rf"[`*_\"']{{0,3}}(?:{_BESIDE}|{_MOVED})[`*\"']{{0,3}}"
_ENDING = r"(?:\.?(?:a|b|rc|post|dev)\d{1,9})?(?:\+[\w.]{0,30}\w)?"
_PYTHON = r"(?<=ython )3\.\d{1,2}"  # people know theirs by two numbers
_MENTION = lazy_pattern(
    rf"(?<![\w./@-]){_NAME}{_BETWEEN}v?(\d{{1,4}}(?:\.\d{{1,9}}){{2,3}}{_ENDING}|{_PYTHON})(?![\w.+-]*\w)"
)
_ROW = lazy_pattern(
    rf"\s*(?:[-*•]\s{{1,9}})?[`*_]{{0,2}}{_NAME}{_BETWEEN}v?(\d{{1,4}}(?:\.\d{{1,9}}){{1,3}}{_ENDING})[`*_.,;)]{{0,3}}\s*"
)
# Before a version that is not the one of the text's own environment; looked for in the same sentence.
_ELSEWHERE = lazy_pattern(
    r".*\b(?:available|before|downgrade|fixed|fixes|instead|introduced|need(?:s|ed)?|older|prior|required?s?|requirement|reverting"
    r"|since|switching|than|tried|unless|until|upgrade|worked|works|working)\b(?:[^.!?]|\.\d)*"
    r"|.*\bfrom\s+",
    re.IGNORECASE,
)
_ASIDE = 80  # characters before a version that are looked at


def mentions(text: str) -> Iterator[TypedVersion]:
    """What one line mentions, from left to right."""
    row = _ROW.fullmatch(text)
    if row is not None:
        yield _mention(row)
        return
    for match in _MENTION.finditer(text):
        if not _ELSEWHERE.fullmatch(text, max(match.start() - _ASIDE, 0), match.start()):
            yield _mention(match)


def _mention(match: re.Match[str]) -> TypedVersion:
    return TypedVersion(package_called(match[1]) or "python", match[2], match.start(2))
