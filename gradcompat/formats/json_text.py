"""JSON with the places of its values: the parser gives values, one pass over the tokens gives lines and columns.

The pass does not recurse, and keeps two numbers for each value, so that a file of any depth and length can be read.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gradcompat.errors import Malformed
from gradcompat.formats.text_places import Container, TextPlaces
from gradcompat.quotation import parser_reason
from gradcompat.startup.lazy_patterns import lazy_pattern

_STRING = json.JSONDecoder()
_SPACE = lazy_pattern(r"[ \t\r\n]*")
_WORD = lazy_pattern(r"[^\s{}\[\],:\"]+")
# An escape, and among them those of surrogates: a pair of them is one character, one alone is none.
_ESCAPE = lazy_pattern(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<alone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def parse(text: str, path: str) -> Any:
    """The content of a JSON text. Of a key that stands twice the last value counts.

    Raises:
        Malformed: if it is not JSON, with the line.
    """
    try:
        return json.loads(_printable(text), parse_int=_integer)
    except json.JSONDecodeError as error:
        raise Malformed(f"not valid JSON: {parser_reason(error.msg)}", path=path, line=error.lineno) from None
    except RecursionError:
        raise Malformed("nested too deeply", path=path) from None


class Places(TextPlaces):
    """Where the values of a JSON text stand; the text is one that :func:`parse` has accepted."""

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text, path, _scan(_printable(text)))


def _printable(text: str) -> str:
    """The text without escapes of half a character, which could be read and never be written again."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match["alone"] else match[0], text)


def _integer(digits: str) -> int | str:
    # A run of thousands of digits is no number that anybody means, and int() refuses it.
    return int(digits) if len(digits) < 40 else digits


def _scan(text: str) -> Container:
    """The outermost container; an empty one if the text is a mere scalar."""
    root: Container | None = None
    stack: list[Container] = []
    key: tuple[str, int] | None = None  # the key whose value comes next, and where it stands
    position = _skip(text, 0)
    while position < len(text):
        sign, start = text[position], position
        if sign in ",:":
            position = _skip(text, position + 1)
            continue
        if sign in "}]":
            if stack:
                stack.pop()
            position = _skip(text, position + 1)
            continue
        top = stack[-1] if stack else None
        string = None
        if sign == '"':
            try:
                string, position = _STRING.raw_decode(text, position)
            except json.JSONDecodeError:
                break
        else:
            match = _WORD.match(text, position)
            position = match.end() if match else position + 1
        position = _skip(text, position)
        if string is not None and key is None and text.startswith(":", position):
            key = (string, start)
            continue
        step: str | int = 0
        if top is not None and key is not None:
            step = key[0]
            top.put(step, key[1], start)
        elif top is not None:
            step = len(top.elements)
            top.elements.append(start)
        key = None
        if sign in "{[":
            container = Container(start)
            if top is not None:
                top.inner[step] = container
            root = root or container
            stack.append(container)
    return root or Container(0)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
