"""TOML with the places of its tables: the parser gives values, a scan of the text gives lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Any

import tomli

from gradcompat.errors import Malformed
from gradcompat.model.environment import Location

_LINE_IN_MESSAGE = re.compile(r"\(at line (\d+), column \d+\)")


def parse(text: str, path: str) -> dict[str, Any]:
    """The content of a TOML text.

    Raises:
        Malformed: if it is not TOML, with the line.
    """
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        message = str(error)
        at = _LINE_IN_MESSAGE.search(message)
        if at is None:
            raise Malformed(f"not valid TOML: {message}", path=path) from None
        message = message.replace(at[0], "").strip()
        raise Malformed(f"not valid TOML: {message}", path=path, line=int(at[1])) from None
    except RecursionError:
        raise Malformed("nested too deeply", path=path) from None
    except ValueError as error:  # a date such as 0000-00-00, a number with 5,000 digits
        raise Malformed(f"not valid TOML: {error}", path=path) from None


class TablePlaces:
    """Where the tables of one array stand, for the array of a machine-written lockfile.

    The n-th header ``[[package]]`` is the n-th element. A multi-line string could hold such a header too, so a place is
    given only where the name that stands there is the name that is asked for.
    """

    def __init__(self, text: str, path: str, header: str) -> None:
        self._path = path
        self._blocks: list[dict[str, tuple[int, int]]] = []
        self._names: list[str] = []
        self._whole = Location(path=path)
        ends = _line_ends(text)
        for match in _scanner(header).finditer(text):
            start = match.start()
            line = bisect_right(ends, start - 1) + 1 if start else 1
            if match[1] is None:
                self._blocks.append({})
                self._names.append("")
            elif self._blocks:
                key = match[1]
                column = match.start(2) - start + 1
                if key not in self._blocks[-1]:
                    self._blocks[-1][key] = (line, column)
                    if key == "name":
                        self._names[-1] = match[2].strip("\"'")

    def find(self, index: int, name: str) -> Location:
        """The place of the version (or else of the name) of the element at ``index``, which is called ``name``."""
        if index >= len(self._blocks) or self._names[index] != name:
            return self._whole
        place = self._blocks[index].get("version") or self._blocks[index]["name"]
        return Location(path=self._path, line=place[0], column=place[1])


@lru_cache(maxsize=8)
def _scanner(header: str) -> re.Pattern[str]:
    """Headers of the array, and the ``name`` and ``version`` lines that follow one."""
    return re.compile(rf"^(?:{re.escape(header)}|(name|version)[ \t]*=[ \t]*([^\r\n]*))", re.MULTILINE)


def _line_ends(text: str) -> list[int]:
    ends: list[int] = []
    position = text.find("\n")
    while position >= 0:
        ends.append(position)
        position = text.find("\n", position + 1)
    return ends
