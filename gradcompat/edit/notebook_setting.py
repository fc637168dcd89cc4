"""A literal in a code cell of a notebook gives way to another, inside the JSON string that holds its line.

The scanner knows the line of the file, not the column. So the name and the old value are looked for in what the line
holds, and have to be there just once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gradcompat.edit.setting_values import Replacement, SettingEdit, means, not_there, offset_of, refused, written
from gradcompat.errors import EditError, Malformed
from gradcompat.formats.json_text import Places, parse

# One character of a JSON string as it is written, two escapes for one beyond 16 bits.
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\"\\]", re.DOTALL
)
_TORCH = "torch."
_VALUE = (
    r"(?P<value>True|False|-?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d+)(?:[eE][-+]?\d+)?|torch\.\w+|'[^'\\\n]*'|\"[^\"\\\n]*\")"
    r"(?=[ \t]*(?:[,)\]}#;\n\r]|\Z))"
)


def replacement(text: str, shown: str, change: SettingEdit) -> Replacement | None:
    """What has to be replaced; None if the new value stands there already.

    Raises:
        EditError: if the line does not hold the name with that value just once.
    """
    if change.spelling is None or not isinstance(change.old, (bool, int, float, str)):
        raise refused(change, "sets it in a way that is not edited, or puts it together elsewhere", shown)
    found: list[tuple[int, list[int], re.Match[str]]] = []
    for start in _strings(text, shown, change.location.line):
        places, line = _decoded(text, start)
        for match in _pattern(change.spelling).finditer(line):
            # A comment says nothing.
            if "#" not in line[line.rfind("\n", 0, match.start()) + 1 : match.start()]:
                found.append((start, places, match))
    if len(found) != 1:
        reason = "the setting is no longer there" if not found else "appears there more than once"
        raise refused(change, reason, shown)
    _, places, match = found[0]
    raw = match["value"]
    old = raw[1:-1] if raw[0] in "'\"" else raw.removeprefix(_TORCH)
    if means(old, change.new):
        return None
    if not means(old, change.old):
        raise not_there(change, old, shown)
    new = json.dumps(_written(change, raw, old, shown), ensure_ascii=False)[1:-1]
    return Replacement(places[match.start("value")], places[match.end("value")], new)


def _written(change: SettingEdit, raw: str, old: str, shown: str) -> str:
    if isinstance(change.new, bool):
        return str(change.new)
    try:
        new = written(change, old)
    except ValueError:
        raise refused(change, "a list would replace a word", shown) from None
    if isinstance(change.new, (int, float)):
        return new
    if raw.startswith(_TORCH) and new.isidentifier():
        return _TORCH + new
    quote = raw[0] if raw[0] in "'\"" else '"'
    return repr(new) if quote in new or "\\" in new or not new.isprintable() else f"{quote}{new}{quote}"


def _pattern(spelling: str) -> re.Pattern[str]:
    """The spelling with the blanks and quotes that Python allows."""
    name = spelling.partition("{}")[0].rstrip(" =:")
    if spelling.rstrip("{}").rstrip().endswith(":"):
        return re.compile(rf"[\"']{re.escape(name.strip(chr(34)))}[\"']\s*:\s*{_VALUE}")
    annotation = r"(?:\s*:\s*[\w.]+)?" if " = " in spelling else ""
    # Calls and indexes in a chain are shown without what is in their brackets.
    chain = re.escape(name).replace(r"\(\)", r"\([^()\n]*\)").replace(r"\[\]", r"\[[^\]\n]*\]")
    return re.compile(rf"(?<![\w.]){chain}{annotation}\s*=(?!=)\s*{_VALUE}")


def _strings(text: str, shown: str, line: int | None) -> Iterator[int]:
    """The offsets of the strings with code that start in a line of the file."""
    try:
        content = parse(text, shown)
    except Malformed as error:
        raise EditError(error.message, path=shown, line=error.line) from None
    places = Places(text, shown)
    for keys, pieces in _sources(content):
        numbered = [keys] if isinstance(pieces, str) else [(*keys, index) for index in range(len(pieces))]
        for one in numbered:
            location = places.of(*one)
            offset = offset_of(text, location) if location.line == line else None
            if offset is not None and text[offset] == '"':
                yield offset


def _sources(content: Any) -> Iterator[tuple[tuple[str | int, ...], str | list[str]]]:
    """The source of each code cell, with the keys to it; before version 4 of the format they lie in worksheets."""
    if not isinstance(content, dict):
        return
    sheets: list[tuple[tuple[str | int, ...], Any]] = [((), content)]
    worksheets = content.get("worksheets")
    if "cells" not in content and isinstance(worksheets, list):
        sheets = [(("worksheets", number), sheet) for number, sheet in enumerate(worksheets)]
    for keys, sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        for index, cell in enumerate(cells if isinstance(cells, list) else []):
            if not isinstance(cell, dict) or cell.get("cell_type") != "code":
                continue
            key = "source" if "source" in cell else "input"
            pieces = cell.get(key)
            if isinstance(pieces, str) or (
                isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces)
            ):
                yield (*keys, "cells", index, key), pieces


def _decoded(text: str, start: int) -> tuple[list[int], str]:
    """The string that starts at a quote, and where each of its characters stands in the text; the end as the last."""
    places: list[int] = []
    characters: list[str] = []
    position = start + 1
    while (match := _CHARACTER.match(text, position)) is not None:
        places.append(position)
        character = match[0]
        characters.append(json.loads(f'"{character}"') if character[0] == "\\" else character)
        position = match.end()
    return [*places, position], "".join(characters)
