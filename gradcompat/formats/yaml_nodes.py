"""YAML as nodes that know their line: text as written, until someone asks for its value."""

from __future__ import annotations

from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

_INT = lazy_pattern(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = lazy_pattern(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 40
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE = frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})


@dataclass(slots=True, eq=False)
class Scalar:
    """A scalar as written; ``plain`` if neither quoted nor a block. Lines and columns count from 1."""

    text: str
    plain: bool
    line: int
    column: int
    quoted: bool = False

    @property
    def value(self) -> bool | int | float | str | None:
        """What the scalar means: YAML 1.1's booleans, and YAML 1.2's numbers (``2e-5`` is a number)."""
        if not self.plain:
            return self.text
        if self.text in _NULLS:
            return None
        if self.text in _TRUE:
            return True
        if self.text in _FALSE:
            return False
        # A run of thousands of digits is no number that anybody means, and int() refuses it.
        if len(self.text) < _LONGEST_NUMBER:
            if _INT.fullmatch(self.text):
                return int(self.text.replace("_", ""))
            if _FLOAT.fullmatch(self.text):
                return float(self.text.replace("_", ""))
        return self.text

    def column_of(self, offset: int) -> int:
        """The column of the character at ``offset`` of the text, of a scalar that stands on one line."""
        if self.quoted:
            return self.column + 1 + offset
        return self.column + offset if self.plain else self.column


@dataclass(slots=True, eq=False)
class Sequence:
    """A sequence of nodes."""

    items: list[Node]
    line: int
    column: int


@dataclass(slots=True, eq=False)
class Mapping:
    """A mapping with text keys; ``duplicates`` are keys that stood more than once (the last value counts)."""

    entries: dict[str, Node]
    line: int
    column: int
    keys: dict[str, Scalar] = field(default_factory=dict)
    duplicates: list[Scalar] = field(default_factory=list)

    def text(self, key: str) -> str | None:
        """The text of the scalar at a key; None if there is none, nothing, or another node."""
        node = self.entries.get(key)
        if type(node) is not Scalar or (node.plain and node.text in _NULLS):
            return None
        return node.text


Node = Scalar | Sequence | Mapping
