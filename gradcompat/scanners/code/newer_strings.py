"""What Python 3.12 allows in f-strings, spelled so that an older parser reads it: ``f"{row["id"]}"``.

The quotes inside of a field become the other ones; a field with a backslash, with both kinds of quotes, or with strings
in strings, becomes a zero. Every character stays on its line and in its column.
"""

from __future__ import annotations

import re

from gradcompat.startup.lazy_patterns import lazy_pattern

_START = lazy_pattern(r"#[^\n]*|(?:(?<!\w)(?P<prefix>[rRbBuUfF]{1,2}))?(?P<quote>'{3}|\"{3}|['\"])")
_OPEN, _CLOSE = "([{", ")]}"
_DEEPEST = 20


def respelled(text: str) -> str:
    """The text with fields of f-strings as Python 3.11 reads them; the same where there are none, or one has no end."""
    pieces: list[str] = []
    done = at = 0
    while (start := _START.search(text, at)) is not None:
        at = start.end()
        if start["quote"] is None:
            continue
        fields: list[tuple[int, int]] = []
        end = _end_of_string(text, start, fields, 0)
        if end is None:
            return text
        for first, last in fields:
            pieces += (text[done:first], _field(text[first:last], start["quote"]))
            done = last
        at = end
    return "".join((*pieces, text[done:]))


def _field(written: str, quote: str) -> str:
    if "\\" not in written and quote not in written:
        return written
    other = "'" if quote[0] == '"' else '"'
    turned = written.replace(quote[0], other)
    if "\\" not in written and other not in written and respelled(turned) == turned:
        return turned
    return "0" + re.sub(r"[^\n]", " ", written[1:])


def _end_of_string(text: str, start: re.Match[str], fields: list[tuple[int, int]], depth: int) -> int | None:
    """Where a string ends, its quotes included; of an f-string each field is added."""
    quote, formatted = start["quote"], "f" in (start["prefix"] or "").lower()
    at = start.end()
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote)
        sign = text[at]
        if sign == "\n" and len(quote) == 1:
            return None
        if formatted and sign == "{" and text[at + 1 : at + 2] != "{":
            end = _end_of_field(text, at + 1, depth + 1)
            if end is None:
                return None
            fields.append((at + 1, end))
            at = end + 1
        else:
            at += 2 if sign == "\\" or (formatted and sign == "{") else 1
    return None


def _end_of_field(text: str, at: int, depth: int) -> int | None:
    """Where the bracket is that ends a field."""
    if depth > _DEEPEST:
        return None
    brackets = 0
    while at < len(text):
        start = _START.match(text, at)
        if start is not None and start["quote"] is not None:
            end = _end_of_string(text, start, [], depth)
            if end is None:
                return None
            at = end
            continue
        sign = text[at]
        if sign == "}" and not brackets:
            return at
        if sign == ":" and not brackets:
            return _end_of_format(text, at + 1, depth)
        brackets += (sign in _OPEN) - (sign in _CLOSE)
        at += 1
    return None


def _end_of_format(text: str, at: int, depth: int) -> int | None:
    """Where a field ends that says how it is written, ``{width:>{columns}}``."""
    while at < len(text) and text[at] not in "\n}":
        if text[at] == "{":
            end = _end_of_field(text, at + 1, depth + 1)
            if end is None:
                return None
            at = end
        at += 1
    return at if text[at : at + 1] == "}" else None
