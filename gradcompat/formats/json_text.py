"""JSON with the places of its values: the parser gives values, a pass over the tokens gives lines and columns.

Mostly a few values of each level are asked for, and the parser steps over the others in its own C (the output of a
notebook's cells may be most of its file). Where that goes deep, one pass finds the places of everything; it does not
recurse, and keeps two numbers for each value, so that a file of any depth and length can be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from gradcompat.errors import Malformed
from gradcompat.formats.text_places import Container, TextPlaces
from gradcompat.quotation import parser_reason
from gradcompat.startup.lazy_patterns import lazy_pattern

_STRING = json.JSONDecoder()
# From a place in a text to a value and its end; what is stepped over is no number to anybody.
_VALUE: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_int=str, parse_float=str).scan_once  # type: ignore[attr-defined]
_PASSES = 8  # how often the text may be stepped over, all levels together, before one pass finds everything
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
        self._text = _printable(text)
        self._left = _PASSES * len(text)
        start = _skip(self._text, 0)
        super().__init__(text, path, Container(start if self._text.startswith(("{", "["), start) else 0))
        self._opened: set[int] | None = set()  # starts of containers whose members are known; None for all

    def _find(self, keys: tuple[str | int, ...], *, key: bool) -> int:
        if self._opened is not None:
            try:
                return super()._find(keys, key=key)
            except (RecursionError, ValueError, StopIteration, IndexError):
                self._root, self._opened = _scan(self._text), None
        return super()._find(keys, key=key)

    def _members(self, container: Container) -> Container:
        if self._opened is not None and container.start not in self._opened:
            self._left -= _open(container, self._text) - container.start
            if self._left < 0:
                raise ValueError("one pass costs less")
            self._opened.add(container.start)
        return container


def _printable(text: str) -> str:
    """The text without escapes of half a character, which could be read and never be written again."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match["alone"] else match[0], text)


def _integer(digits: str) -> int | str:
    # A run of thousands of digits is no number that anybody means, and int() refuses it.
    return int(digits) if len(digits) < 40 else digits


def _open(container: Container, text: str) -> int:
    """Find the members of one container, and where it ends.

    Raises:
        StopIteration: if no value stands where one should, as in a text that is broken; or an IndexError or a
            ValueError.
        RecursionError: if one of them is nested too deeply for the parser, which has more of the stack left elsewhere.
    """
    start = container.start
    if not text.startswith(("{", "["), start):
        return start  # a mere scalar
    named, position = text[start] == "{", _skip(text, start + 1)
    while text[position] not in "}]":
        at_key, name = position, None
        if named:
            name, position = _STRING.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # over the colon
        at_value = position
        _, position = _VALUE(text, at_value)
        step: str | int = len(container.elements) if name is None else name
        if name is None:
            container.elements.append(at_value)
        else:
            container.put(name, at_key, at_value)
        if text[at_value] in "{[":
            container.inner[step] = Container(at_value)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return position + 1


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
