"""A scalar of a YAML text gives way to another: comments, quotes and indentation stay as they are.

The place comes from the parser's own marks. What surprises are aliases: a value that is ``*steps`` was found where
``&steps`` stands, and what stands below an anchor that is used again counts for several places.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from gradcompat.edit.setting_values import Replacement, SettingEdit, means, not_there, refused, written
from gradcompat.errors import EditError
from gradcompat.quotation import parser_reason

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML can be built without libyaml
_PROPERTIES = re.compile(r"&\S+\s+")
_WORD = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+@-]*")
# Words that some YAML parser takes for something else.
_RESERVED = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class _Node:
    """An event with what stands around it; ``key`` is that of a value in a mapping."""

    event: Any  # of which the stubs know too little
    key: str | None
    parent: int | None


@dataclass(slots=True)
class _Nodes:
    """Every node in its order, and the aliases of each that has an anchor."""

    nodes: list[_Node] = field(default_factory=list)
    aliases: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come; ``key`` is the key whose value comes next."""

    index: int
    mapping: bool
    key: str | None = None
    after_key: bool = False


def replacement(text: str, shown: str, change: SettingEdit) -> Replacement | None:
    """What has to be replaced; None if the new value stands there already.

    Raises:
        EditError: if it is not certain that this one value, and no other, would change.
    """
    found = _nodes(text, shown)
    place = (change.location.line, change.location.column)
    index = next((index for index, node in enumerate(found.nodes) if _place(node.event) == place), None)
    node = None if index is None else found.nodes[index]
    if index is None or node is None or change.spelling is None:
        raise refused(change, "the setting is no longer there", shown)
    key = change.spelling.rpartition(":")[0].strip('" ')
    aliases = found.aliases[index]
    if node.key != key:
        index = next((alias for alias in aliases if found.nodes[alias].key == key), None)
        if index is None or not isinstance(node.event, ScalarEvent):
            raise refused(change, "is more than one value", shown)
        node = found.nodes[index]
    elif aliases:
        line = found.nodes[aliases[0]].event.start_mark.line + 1
        raise refused(change, f"stands at an anchor that line {line} uses, too", shown)
    _own(found, node, change, shown)
    return _replaced(text, node.event, change, shown)


def _own(found: _Nodes, node: _Node, change: SettingEdit, shown: str) -> None:
    """Refuse what is a part of something that stands in several places."""
    parent = node.parent
    while parent is not None:
        if found.aliases[parent]:
            line = found.nodes[found.aliases[parent][0]].event.start_mark.line + 1
            raise refused(change, f"stands below an anchor that line {line} uses, too", shown)
        parent = found.nodes[parent].parent


def _replaced(text: str, event: Any, change: SettingEdit, shown: str) -> Replacement | None:
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, AliasEvent):
        return Replacement(start, end, _value(change, "", "", shown))
    if not isinstance(event, ScalarEvent):
        raise refused(change, "is more than one value", shown)
    if event.style in ("|", ">") or "\n" in text[start:end]:
        raise refused(change, "the value runs over several lines", shown)
    if event.tag is not None:
        raise refused(change, f"the value has the tag `{event.tag}`", shown)
    properties = _PROPERTIES.match(text, start, end)
    start = properties.end() if properties else start
    raw, old = text[start:end], event.value
    quote = raw[:1] if event.style in ('"', "'") else ""
    if means(old, change.new):
        return None
    # What is not literal is one scalar all the same: `auto`, `${steps}`.
    if change.old is not None and not means(old, change.old):
        raise not_there(change, old, shown)
    if not quote and raw != old:
        raise refused(change, "the setting is no longer there", shown)
    return Replacement(start, end, _value(change, old, quote, shown))


def _value(change: SettingEdit, old: str, quote: str, shown: str) -> str:
    """The new value as YAML: a word that could be taken for something else is quoted."""
    try:
        new = written(change, old)
    except ValueError:
        raise refused(change, "a list would replace a word", shown) from None
    of_json = change.spelling is not None and change.spelling.startswith('"')
    if not isinstance(change.new, (str, tuple)):
        # A number in quotes was a choice; quotes around `${steps}` only keep its braces.
        return f"{quote}{new}{quote}" if quote and change.old is not None else new
    if quote == "'" and new.isprintable():
        return "'" + new.replace("'", "''") + "'"
    numbers = _NUMBER.fullmatch(old) is not None and _NUMBER.fullmatch(new) is not None
    if not quote and not of_json and (numbers or (_WORD.fullmatch(new) and new.lower() not in _RESERVED)):
        return new
    return json.dumps(new, ensure_ascii=False)


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _nodes(text: str, shown: str) -> _Nodes:
    """The nodes of all documents of a text, in their order."""
    found = _Nodes()
    anchors: dict[str, int] = {}
    stack: list[_Open] = []
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, DocumentStartEvent):
                anchors.clear()
            elif isinstance(event, CollectionEndEvent):
                stack.pop()
            elif isinstance(event, NodeEvent):
                _add(found, event, anchors, stack)
    except yaml.YAMLError as error:
        raise EditError(f"not valid YAML: {parser_reason(str(error).splitlines()[0])}", path=shown) from None
    except UnicodeEncodeError:  # half a surrogate pair, which libyaml is not even shown
        raise EditError("not valid YAML: contains invalid characters", path=shown) from None
    return found


def _add(found: _Nodes, event: NodeEvent, anchors: dict[str, int], stack: list[_Open]) -> None:
    top = stack[-1] if stack else None
    key = None
    if top is not None and top.mapping:
        if top.after_key:
            key = top.key
        else:
            top.key = event.value if isinstance(event, ScalarEvent) else None
        top.after_key = not top.after_key
    index = len(found.nodes)
    found.nodes.append(_Node(event, key, None if top is None else top.index))
    if isinstance(event, AliasEvent):
        if event.anchor in anchors:
            found.aliases[anchors[event.anchor]].append(index)
    elif event.anchor is not None:
        anchors[event.anchor] = index
    if isinstance(event, (MappingStartEvent, SequenceStartEvent)):
        stack.append(_Open(index, isinstance(event, MappingStartEvent)))
