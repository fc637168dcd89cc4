"""TOML with the places of its tables: the parser gives values, a scan of the text gives lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tomli

from gradcompat.errors import Malformed
from gradcompat.model.environment import Location
from gradcompat.quotation import parser_reason
from gradcompat.startup.lazy_patterns import lazy_pattern

# The parser takes as many steps for a key as the square of its parts.
MOST_PARTS = 100
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = lazy_pattern(rf"(?<![\w.-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MOST_PARTS}}}")
_LINE_IN_MESSAGE = lazy_pattern(r"\(at line (\d+), column \d+\)")


def parse(text: str, path: str) -> dict[str, Any]:
    """The content of a TOML text.

    Raises:
        Malformed: if it is not TOML, or has a key of more than 100 parts, with the line.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") >= MOST_PARTS and _LONG_KEY.search(line):
            raise Malformed(f"has a key of more than {MOST_PARTS} parts", path=path, line=number)
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        message = str(error)
        at = _LINE_IN_MESSAGE.search(message)
        if at is None:
            raise Malformed(f"not valid TOML: {parser_reason(message)}", path=path) from None
        message = message.replace(at[0], "").strip()
        raise Malformed(f"not valid TOML: {parser_reason(message)}", path=path, line=int(at[1])) from None
    except RecursionError:
        raise Malformed("nested too deeply", path=path) from None
    except ValueError as error:  # a date such as 0000-00-00, a number with 5,000 digits
        raise Malformed(f"not valid TOML: {parser_reason(str(error))}", path=path) from None


class TablePlaces:
    """Where the tables of one array stand, for the array of a machine-written lockfile.

    The n-th header ``[[package]]`` is the n-th element. A multi-line string could hold such a header too, so a place is
    given only where the name that stands there is the name that is asked for.
    """

    def __init__(self, text: str, path: str, header: str) -> None:
        self._path = path
        self._text = text
        self._header = header
        self._starts = list(_headers(text, header))
        # Elements are asked for in their order, so lines are counted from the last one that was found.
        self._counted = (0, 1)

    def find(self, index: int, name: str) -> Location:
        """The place of the version (or else of the name) of the element at ``index``, which is called ``name``."""
        if index >= len(self._starts):
            return Location(path=self._path)
        start = self._starts[index] + len(self._header)
        plain = f'\nname = "{name}"\nversion = '
        if self._text.startswith(plain, start):  # as tools write nearly all of them
            return self._location(start + len(plain))
        end = self._starts[index + 1] if index + 1 < len(self._starts) else len(self._text)
        named = _value(self._text, "name", start, end)
        if named < 0 or not self._text.startswith((f'"{name}"', f"'{name}'"), named):
            return Location(path=self._path)
        version = _value(self._text, "version", start, end)
        return self._location(version if version >= 0 else named)

    def _location(self, position: int) -> Location:
        before, line = self._counted if self._counted[0] <= position else (0, 1)
        line += self._text.count("\n", before, position)
        self._counted = (position, line)
        column = position - self._text.rfind("\n", 0, position)
        return Location(path=self._path, line=line, column=column)


def _headers(text: str, header: str) -> Iterator[int]:
    """The offset of each line that begins with the header."""
    if text.startswith(header):
        yield 0
    position = text.find(f"\n{header}")
    while position >= 0:
        yield position + 1
        position = text.find(f"\n{header}", position + 1)


def _value(text: str, key: str, start: int, end: int) -> int:
    """The offset of the value of the first line ``key = value`` between two offsets, or -1."""
    position = text.find(f"\n{key}", start, end)
    while position >= 0:
        match = _ASSIGNMENT.match(text, position + 1 + len(key), end)
        if match is not None:
            return match.end()
        position = text.find(f"\n{key}", position + 1, end)
    return -1


_ASSIGNMENT = lazy_pattern(r"[ \t]*=[ \t]*")
