"""A record as YAML in the style of ``knowledge/issues.yaml``, and behind the last one there; nothing else changes."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from gradcompat.errors import KnowledgeError
from gradcompat.formats.yaml_nodes import Mapping as MappingNode
from gradcompat.formats.yaml_nodes import Scalar
from gradcompat.formats.yaml_text import parse
from gradcompat.knowledge.records import plain
from gradcompat.knowledge.schema import ID
from gradcompat.startup.lazy_patterns import lazy_pattern

_WIDTH = 120
_FLOW_WORD = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.*/+-]*")
_BLOCK_WORDS = lazy_pattern(r"[A-Za-z](?!.*(?:: | #|:$))[^\t\n]*(?<! )")
_RECORD = lazy_pattern(rf"^( *)- id: *({ID})\b", re.MULTILINE)
_FOLDED = ("details",)


def ids_in(text: str) -> list[str]:
    """The ids of all records, also of those that are not of the schema, in the order of the file."""
    return [match[2] for match in _RECORD.finditer(text)]


def appended(text: str, record: Mapping[str, Any], shown: str) -> str:
    """The text of the file with a record behind its last one.

    Raises:
        KnowledgeError: if the records are not the last thing in it, as a list that has one already.
    """
    last = next(iter(reversed(list(_RECORD.finditer(text)))), None)
    top = parse(text, shown)[0]
    if last is None or not isinstance(top, MappingNode) or list(top.entries)[-1:] != ["issues"]:
        raise KnowledgeError("the records do not stand at its end, so none can be put behind them", path=shown)
    end = "\r\n" if "\r\n" in text else "\n"
    block = textwrap.indent(record_text(record), last[1])
    return text + (end if not text.endswith("\n") else "") + end + block.replace("\n", end)


def record_text(record: Mapping[str, Any]) -> str:
    """The record as one entry of a list.

    Raises:
        ValueError: if a reader would understand something else; nothing that the schema takes does that.
    """
    lines: list[str] = []
    for key, value in record.items():
        lines += _field(key, value)
    text = "- " + "\n".join(line if number == 0 else f"  {line}" for number, line in enumerate(lines)) + "\n"
    (node,) = parse(text, "the new record")
    if plain(node) != [_as_read(record)]:
        raise ValueError(f"cannot be written as YAML: {record!r}")
    return text


def _as_read(record: Mapping[str, Any]) -> dict[str, Any]:
    """A folded text ends with a line end, which the schema takes away."""
    return {key: f"{_one_line(value)}\n" if key in _FOLDED else value for key, value in record.items()}


def _field(key: str, value: Any) -> list[str]:
    if key in _FOLDED:
        return [f"{key}: >", *(f"  {line}" for line in _folded(value))]
    if key == "affected":
        return [f"{key}:", *(line for one in value for line in _combination(one))]
    if key == "examples":
        lines = [f"{key}:"]
        for expected, examples in value.items():
            lines += [f"  {expected}:", *(line for example in examples for line in _example(example))]
        return lines
    if isinstance(value, list) and key != "categories":
        return [f"{key}:", *(f"  - {_flow(one)}" for one in value)]
    return [f"{key}: {_block(value)}"]


def _combination(one: Mapping[str, Any]) -> list[str]:
    return [
        f"  {'- ' if number == 0 else '  '}{key}: {_flow(value)}" for number, (key, value) in enumerate(one.items())
    ]


def _example(one: Mapping[str, Any]) -> list[str]:
    """On one line, or on one for each key where that would be too long."""
    line = f"    - {_flow(one)}"
    if len(line) + 4 <= _WIDTH:
        return [line]
    pairs = [f"{_word(key)}: {_flow(value)}" for key, value in one.items()]
    return [f"    {'-' if number == 0 else ' '} {pair}" for number, pair in enumerate(pairs)]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _folded(text: str) -> list[str]:
    return textwrap.wrap(_one_line(text), _WIDTH - 6, break_long_words=False, break_on_hyphens=False)


def _block(value: Any) -> str:
    """A value behind its key, on a line of its own."""
    if isinstance(value, str) and _BLOCK_WORDS.fullmatch(value) and _is_text(value):
        return value
    return _flow(value)


def _flow(value: Any) -> str:
    """A value within braces or brackets."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_word(key)}: {_flow(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return _word(value) if isinstance(value, str) else str(value)


def _word(text: str) -> str:
    return text if _FLOW_WORD.fullmatch(text) and _is_text(text) else json.dumps(text, ensure_ascii=False)


def _is_text(text: str) -> bool:
    """Not a number, a truth or nothing to a reader."""
    return Scalar(text, plain=True, line=1, column=1).value == text
