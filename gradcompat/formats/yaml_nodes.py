"""YAML as nodes that know their line, read without recursion and without building anything but text.

PyYAML's C composer recurses in C and dies of a deeply nested file, and its constructors lose lines, duplicate keys and
the spelling of scalars (an unquoted version ``1.10`` becomes the float 1.1). So libyaml's event stream is composed
here: depth is limited, an alias is the very node that it names (so that nothing is expanded), and a scalar stays text
until someone asks for its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gradcompat.errors import Malformed, Unrecognised
from gradcompat.quotation import parser_reason

try:
    from yaml._yaml import CParser as _Parser
except ImportError:  # PyYAML built without libyaml: slower, and otherwise the same
    from yaml import SafeLoader as _Parser  # type: ignore[assignment]

MAX_DEPTH = 200
MAX_MERGED = 1_000_000  # keys that `<<` may copy; a short file could ask for billions

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 40
_QUOTES = frozenset({"'", '"'})
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


@dataclass(slots=True)
class _Open:
    """A collection that is being read; ``key`` is the key whose value comes next."""

    node: Sequence | Mapping
    key: Scalar | None = None
    merges: list[Node] = field(default_factory=list)


def parse(text: str, path: str) -> list[Node]:
    """The documents of a YAML text.

    Raises:
        Malformed: if it is not YAML, is nested more than :data:`MAX_DEPTH` deep, or contains itself through an alias.
    """
    try:
        return _compose(text, path)
    except yaml.MarkedYAMLError as error:
        line = None
        if error.problem_mark is not None:  # which is behind the last line if something is missing at the end
            line = min(error.problem_mark.line + 1, max(len(text.splitlines()), 1))
        raise Malformed(
            f"not valid YAML: {parser_reason(error.problem or error.context or '')}", path=path, line=line
        ) from None
    except yaml.YAMLError as error:
        raise Malformed(f"not valid YAML: {parser_reason(str(error).splitlines()[0])}", path=path) from None
    except UnicodeEncodeError:  # half a surrogate pair, which libyaml is not even shown
        raise Malformed("not valid YAML: contains invalid characters", path=path) from None


def parse_mapping(text: str, path: str) -> Mapping:
    """The one document of a YAML text, of a format that is a mapping at its top.

    Raises:
        Malformed: as :func:`parse`, and if there are more documents, or something else is at the top.
    """
    documents = parse(text, path)
    if len(documents) > 1:
        line = documents[1].line
        raise Malformed(f"holds {len(documents)} YAML documents instead of one", path=path, line=line)
    if not documents:
        raise Unrecognised("holds 0 YAML documents instead of one", path=path)
    if not isinstance(documents[0], Mapping):
        raise Unrecognised("has no `key: value` lines at its top", path=path, line=documents[0].line)
    return documents[0]


def _compose(text: str, path: str) -> list[Node]:
    documents: list[Node] = []
    stack: list[_Open] = []
    anchors: dict[str, Node] = {}
    open_nodes: set[int] = set()
    merged = 0
    for event in _events(text):
        kind = type(event)
        if kind is ScalarEvent:  # most events are scalars
            mark = event.start_mark
            scalar = Scalar(event.value, event.implicit[0], mark.line + 1, mark.column + 1, event.style in _QUOTES)
            if event.anchor is not None:
                anchors[event.anchor] = scalar
            _place(scalar, stack, documents, path)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            mark = event.start_mark
            if len(stack) >= MAX_DEPTH:
                raise Malformed(f"nested more than {MAX_DEPTH} levels deep", path=path, line=mark.line + 1)
            node: Sequence | Mapping
            if kind is MappingStartEvent:
                node = Mapping({}, mark.line + 1, mark.column + 1)
            else:
                node = Sequence([], mark.line + 1, mark.column + 1)
            if event.anchor is not None:
                anchors[event.anchor] = node
            open_nodes.add(id(node))
            stack.append(_Open(node))
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            closed = stack.pop()
            open_nodes.discard(id(closed.node))
            merged += _merge(closed, MAX_MERGED - merged, path)
            _place(closed.node, stack, documents, path)
        elif kind is AliasEvent:
            line = event.start_mark.line + 1
            aliased = anchors.get(event.anchor)
            if aliased is None:
                raise Malformed("an alias has no anchor", path=path, line=line)
            if id(aliased) in open_nodes:
                raise Malformed("an alias contains itself", path=path, line=line)
            _place(aliased, stack, documents, path)
        elif kind is DocumentStartEvent:
            anchors.clear()
    return documents


def _events(text: str) -> Iterator[Any]:  # the stubs know nothing of what an event holds
    parser = _Parser(text)
    try:
        while parser.check_event():
            yield parser.get_event()
    finally:
        parser.dispose()


def _place(node: Node, stack: list[_Open], documents: list[Node], path: str) -> None:
    """Put a finished node where it belongs: into the open collection, or at the top."""
    if not stack:
        documents.append(node)
        return
    top = stack[-1]
    holder = top.node
    if type(holder) is Sequence:
        holder.items.append(node)
    elif type(holder) is Mapping:
        key = top.key
        if key is None:
            if type(node) is not Scalar:
                raise Malformed("a key that is not a word", path=path, line=node.line)
            top.key = node
            return
        top.key = None
        word = key.text
        if word == "<<" and key.plain:
            top.merges.append(node)
            return
        if word in holder.entries:
            holder.duplicates.append(key)
        holder.entries[word] = node
        holder.keys[word] = key


def _merge(closed: _Open, allowance: int, path: str) -> int:
    """``<<: *defaults`` gives what the mapping itself does not say. Returns how many keys were looked at."""
    looked_at = 0
    if isinstance(closed.node, Mapping):
        for merged in closed.merges:
            for source in merged.items if isinstance(merged, Sequence) else [merged]:
                if not isinstance(source, Mapping):
                    raise Malformed("`<<` takes mappings", path=path, line=source.line)
                looked_at += 1 + len(source.entries)
                if looked_at > allowance:
                    raise Malformed("copies too much through `<<`", path=path, line=closed.node.line)
                for key, value in source.entries.items():
                    closed.node.entries.setdefault(key, value)
                    closed.node.keys.setdefault(key, source.keys[key])
    return looked_at
