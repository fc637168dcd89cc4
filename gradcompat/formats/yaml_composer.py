"""Nodes composed of the events of a YAML text, without recursion and without building anything but text.

PyYAML's C composer recurses in C and dies of a deeply nested file, and its constructors lose lines, duplicate keys and
the spelling of scalars (an unquoted version ``1.10`` becomes the float 1.1). So libyaml's event stream is composed
here: depth is limited, an alias is the very node that it names (so that nothing is expanded), and a scalar stays text
until someone asks for its value.
"""

from __future__ import annotations

from collections.abc import Iterator
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

from gradcompat.errors import Malformed
from gradcompat.formats.yaml_nodes import Mapping, Node, Scalar, Sequence
from gradcompat.quotation import parser_reason
from gradcompat.startup.lazy_dataclasses import dataclass, field

try:
    from yaml._yaml import CParser as _Parser
except ImportError:  # PyYAML built without libyaml: slower, and otherwise the same
    from yaml import SafeLoader as _Parser  # type: ignore[assignment]

MAX_DEPTH = 200
MAX_MERGED = 1_000_000  # keys that `<<` may copy; a short file could ask for billions
_QUOTES = frozenset({"'", '"'})


@dataclass(slots=True)
class _Open:
    """A collection that is being read; ``key`` is the key whose value comes next."""

    node: Sequence | Mapping
    key: Scalar | None = None
    merges: list[Node] = field(default_factory=list)


def compose(text: str, path: str) -> list[Node]:
    """The documents of a YAML text.

    Raises:
        Malformed: if it is not YAML, is nested more than :data:`MAX_DEPTH` deep, or contains itself through an alias.
    """
    try:
        return _composed(text, path)
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


def _composed(text: str, path: str) -> list[Node]:
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
