"""Arguments as Python prints an object that holds them: ``Namespace(lr=1e-05, model='x')``, one in a line or all.

Such a print lists every argument with the value that the run has, defaults among them. A line of code that makes the
object looks alike, and lists only some: what names few arguments is taken for code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcompat.diagnosis.excerpts import Excerpt
from gradcompat.diagnosis.literals import literal
from gradcompat.startup.lazy_patterns import lazy_pattern

# Fewer arguments than any print of such an object has.
_LEAST = {"Namespace": 3, "LoraConfig": 8, "ModelConfig": 8, "ScriptConfig": 8}
_LEAST_ELSE = 20
_NAME = lazy_pattern(r"\s*([A-Za-z_]\w{0,80})=")
_MEMBER = lazy_pattern(r"<[\w.]{1,80}: ('[^']*'|\"[^\"]*\"|-?\d{1,18})>")
_MOST = 2_000
_LONGEST = 5_000  # characters of a value
_OPENING, _CLOSING = "([{<", ")]}>"


def arguments(excerpt: Excerpt) -> tuple[tuple[str, Any, int], ...]:
    """Each argument with its value and its line in the log; nothing if these are too few to be a print of all."""
    found: list[tuple[str, Any, int]] = []
    for number, text in excerpt.lines:
        for piece in _pieces(text):
            match = _NAME.match(piece)
            if match and len(piece) <= _LONGEST and len(found) < _MOST:
                found.append((match[1], _value(piece[match.end() :].strip()), number))
    return tuple(found) if len(found) >= _LEAST.get(excerpt.name, _LEAST_ELSE) else ()


def _pieces(text: str) -> Iterator[str]:
    """The text between commas that are in no bracket and no quotes."""
    start, depth, quote, escaped = 0, 0, "", False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"" and text[index - 1 : index] in ("=", "[", "(", "{", " ", ":", ","):
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth = max(0, depth - 1)
        elif char == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _value(text: str) -> Any:
    """A literal as it is; the member of an enumeration as its value; any other text as text (``output_dir=/out``)."""
    text = _MEMBER.sub(r"\1", text)
    try:
        value = literal(text)
    except ValueError:
        # What a token or an object stands for is not known.
        return None if text.startswith("<") else text
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    return value
