"""Where the values of a TOML text stand: one pass over the tokens of a text that the parser has accepted.

For files that people write, where one string may stand in several places; the places in a machine-written lockfile
come cheaper from :class:`gradcompat.formats.toml_text.TablePlaces`.
"""

from __future__ import annotations

import re

import tomli

from gradcompat.formats.text_places import Container, TextPlaces
from gradcompat.startup.lazy_patterns import lazy_pattern

_BETWEEN = lazy_pattern(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BLANKS = lazy_pattern(r"[ \t]*")
_BARE = lazy_pattern(r"[A-Za-z0-9_-]+")
_LINE = lazy_pattern(r"[^\n]*")
_SCALAR = lazy_pattern(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")  # a date and a time may have a blank between them
_STRINGS = (
    ('"""', lazy_pattern(r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3,5}', re.DOTALL)),
    ("'''", lazy_pattern(r"'''[^']*(?:'(?!'')[^']*)*'{3,5}", re.DOTALL)),
    ('"', lazy_pattern(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')),
    ("'", lazy_pattern(r"'[^'\n]*'")),
)


class TomlPlaces(TextPlaces):
    """Where the values of a TOML text stand; the text is one that the parser has accepted."""

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text, path, _Scan(text).root)


class _Scan:
    """The pass itself: a position that only moves forward, and the table that keys belong to."""

    def __init__(self, text: str) -> None:
        self.root = Container(0)
        self._text = text
        self._position = 0
        table = self.root
        while self._skip(_BETWEEN) and self._position < len(text):
            if text[self._position] == "[":
                table = self._header()
            elif not self._pair(table):
                break  # no TOML: what was found so far is all there is

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self._text, self._position)
        if match is not None:
            self._position = match.end()
        return match is not None

    def _header(self) -> Container:
        """``[a.b]`` opens a table, ``[[a.b]]`` appends one to an array."""
        start = self._position
        of_array = self._text.startswith("[[", start)
        self._position += 2 if of_array else 1
        parts = self._key()
        self._skip(_LINE)
        if not parts:
            return Container(start)
        table = self.root
        for name, place in parts[:-1]:
            table = self._last(self._inside(table, name, place))
        name, place = parts[-1]
        table = self._inside(table, name, place)
        if not of_array:
            return table
        table.elements.append(start)
        element = Container(start)
        table.inner[len(table.elements) - 1] = element
        return element

    def _key(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, with their places."""
        parts = []
        while True:
            self._skip(_BLANKS)
            start = self._position
            if self._text.startswith(('"', "'"), start):
                if not self._string():
                    return []
                quoted = self._text[start : self._position]
                parts.append((tomli.loads(f"key = {quoted}")["key"], start))
            elif self._skip(_BARE):
                parts.append((self._text[start : self._position], start))
            else:
                return []
            self._skip(_BLANKS)
            if not self._text.startswith(".", self._position):
                return parts
            self._position += 1

    def _string(self) -> bool:
        for quotes, pattern in _STRINGS:
            if self._text.startswith(quotes, self._position):
                return self._skip(pattern)
        return False

    def _pair(self, table: Container) -> bool:
        """``a.b = value``; the value may be arrays and inline tables in each other, to any depth."""
        place = self._assigned(table)
        if place is None:
            return False
        stack: list[tuple[Container, str]] = []
        while True:
            start = self._position
            sign = self._text[start : start + 1]
            if sign in ("[", "{"):
                self._position += 1
                stack.append((self._open(place, start), sign))
            else:
                self._close(place, start)
                if not (self._string() or self._skip(_SCALAR)):
                    return False
            # Behind a value: the ends of what holds it, and then the next one, if any.
            while True:
                self._skip(_BETWEEN if stack else _BLANKS)
                sign = self._text[self._position : self._position + 1]
                if not stack:
                    return True
                if sign in ("]", "}"):
                    stack.pop()
                elif sign != ",":
                    break
                self._position += 1
            container, kind = stack[-1]
            if kind == "[":
                place = (container, None, self._position)
            else:
                place = self._assigned(container)
                if place is None:
                    return False

    def _assigned(self, table: Container) -> tuple[Container, str | None, int] | None:
        """Read ``a.b =``: the table of ``b``, its name, and where it stands."""
        parts = self._key()
        if not parts or not self._text.startswith("=", self._position):
            return None
        self._position += 1
        self._skip(_BLANKS)
        for name, start in parts[:-1]:
            table = self._inside(table, name, start)
        return (table, *parts[-1])

    @staticmethod
    def _close(place: tuple[Container, str | None, int], start: int) -> str | int:
        """Note that a value starts there; its key or index."""
        container, name, key_start = place
        if name is None:
            container.elements.append(start)
            return len(container.elements) - 1
        container.put(name, key_start, start)
        return name

    def _open(self, place: tuple[Container, str | None, int], start: int) -> Container:
        step = self._close(place, start)
        place[0].inner[step] = Container(start)
        return place[0].inner[step]

    @staticmethod
    def _inside(table: Container, name: str, start: int) -> Container:
        """The table of that name, new if need be."""
        if name not in table.inner:
            table.put(name, start, start)
            table.inner[name] = Container(start)
        return table.inner[name]

    @staticmethod
    def _last(table: Container) -> Container:
        """The newest element of an array of tables; a table itself."""
        return table.inner.get(len(table.elements) - 1, table)
