"""JSON as it is written for people and programs alike: readable, and harmless in a terminal or the log of a CI job."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gradcompat.audit.report_parts import Parts
from gradcompat.model.environment import Location, Skipped
from gradcompat.redaction import redact
from gradcompat.startup.lazy_patterns import lazy_pattern

_string = json.encoder.encode_basestring
# As characters, a terminal or an editor obeys them; as escapes of JSON they are the same string. The second alternative
# is the sign that begins a command of a CI runner anywhere in a line.
_OBEYED = lazy_pattern(r"[^\n -~]|(?<=#)#")


def json_output(data: Any) -> str:
    r"""The data as text with a line end, without credentials; letters of all languages stay as they are.

    >>> json_output({"name": "Gr\u00f6\u00dfe \u202e ##[error]"})
    '{\n "name": "Gr\u00f6\u00dfe \\u202e #\\u0023[error]"\n}\n'
    """
    return "".join(json_pieces(data))


def json_pieces(data: Any) -> Iterator[str]:
    r"""The same in pieces, for a report of many findings: a value that is an iterator is a list that is made meanwhile.

    >>> "".join(json_pieces({"none": iter(()), "squares": (n * n for n in (1, 2))}))
    '{\n "none": [],\n "squares": [\n  1,\n  4\n ]\n}\n'
    """
    # What is hidden never crosses the quotes of a string.
    yield from (_OBEYED.sub(_spelled, redact(piece)) for piece in _pieces(data))
    yield "\n"


def place_data(location: Location | None) -> dict[str, Any]:
    """The keys of a place; null where something has none."""
    return {"path": None if location is None else location.path, "line": None if location is None else location.line}


def questions_data(parts: Parts) -> list[dict[str, Any]]:
    """The facts that would decide what could apply and is not shown by itself."""
    return [{"key": question.key, "ids": list(question.ids)} for question in parts.questions]


def skipped_data(skipped: Skipped) -> dict[str, Any]:
    """What was not read, with its place."""
    return {"what": skipped.what, "reason": skipped.reason, "gap": skipped.gap, **place_data(skipped.location)}


def _pieces(data: Any) -> Iterator[str]:
    """The text of the data; of an object with long lists in pieces, each of which is rewritten by itself."""
    if not isinstance(data, dict) or not data:
        yield _indented(data)
        return
    before, margin = "{", "\n  "
    for key, value in data.items():
        yield f"{before}\n {_string(key)}: "
        before = ","
        if isinstance(value, (list, Iterator)):
            between = "["
            for element in value:
                yield f"{between}{margin}{_indented(element, margin)}"
                between = ","
            yield "[]" if between == "[" else "\n ]"
        else:
            yield _indented(value, "\n ")
    yield "\n}"


def _indented(data: Any, margin: str = "\n") -> str:
    """As ``json.dumps(data, ensure_ascii=False, indent=1)``, which takes three times as long."""
    inner = margin + " "
    if isinstance(data, str):
        return _string(data)
    if isinstance(data, dict) and data:
        members = [f"{_string(key)}: {_indented(value, inner)}" for key, value in data.items()]
        return f"{{{inner}{f',{inner}'.join(members)}{margin}}}"
    if isinstance(data, (list, tuple)) and data:
        return f"[{inner}{f',{inner}'.join([_indented(value, inner) for value in data])}{margin}]"
    if data is None or isinstance(data, bool):
        return "null" if data is None else "true" if data else "false"
    if type(data) is int:
        return str(data)
    return json.dumps(data)


def _spelled(match: re.Match[str]) -> str:
    char = match[0]
    if char == "#":
        return "\\u0023"
    return char if char.isprintable() else json.dumps(char)[1:-1]
