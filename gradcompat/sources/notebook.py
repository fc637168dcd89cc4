"""Jupyter notebooks: what their code cells install with ``!pip``, ``%pip``, ``%%bash`` or ``subprocess``.

A best effort, and every result says so: cells run in any order, and where a notebook runs packages are there before it.
Nothing is run, outputs and markdown are not looked at, and a command counts only if all its words stand there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from gradcompat.budget import MAX_CELLS
from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.formats.shell import Command, Word
from gradcompat.messages import BEST_EFFORT
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.build_contexts import build_contexts
from gradcompat.sources.pip_command import (
    MAX_SCRIPT,
    AuditRequest,
    Include,
    Script,
    read_command,
    read_included,
    read_script,
)
from gradcompat.startup.lazy_patterns import lazy_pattern

_MENTIONS = lazy_pattern(r"pip|conda|mamba|\buv\b|poetry|pdm")
# `!pip …`, `out = !pip …`, `%pip …`, `%system pip …`, and `pip …` alone, which IPython takes for `%pip …`.
_LINE_MAGIC = lazy_pattern(
    r"[ \t]*(?:[\w.,\[\]][\w.,\[\] ]*=[ \t]*)?"
    r"(?:!{1,2}|%(?:sx|system)[ \t]+|%(?=(?:pip|conda|mamba|uv)\b)|(?=(?:pip3?|conda)[ \t]+install\b))"
)
_CELL_MAGIC = lazy_pattern(r"\s*%%(!|\w+)([^\n]*)")
_SHELL_MAGICS = frozenset({"bash", "sh", "zsh", "!", "sx", "system"})
_PYTHON_MAGICS = frozenset({"capture", "time", "timeit", "prun", "python", "python3"})
_CALL = r"(?:subprocess\.(?:run|call|check_call|check_output|Popen)|os\.system|get_ipython\(\)\.system|\bsystem)\s*\("
# A string that is not closed ends with the line or the text, so that each is looked at once.
_LONG_STRING = r"""'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3})?|"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3})?"""
_SHORT_STRING = r"""'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?"""
_TOKEN = lazy_pattern(
    rf"(?P<comment>\#[^\n]*)|(?P<prefix>\b[rRbBuUfF]{{1,2}}(?=['\"]))?(?P<string>{_LONG_STRING}|{_SHORT_STRING})"
    rf"|(?P<call>{_CALL})|(?P<open>[(\[])|(?P<close>[)\]])|(?P<comma>,)|(?P<word>[\w.]+)|(?P<other>[^\s\w])",
    re.DOTALL,
)
_QUOTES = lazy_pattern(rf"\#|'{{3}}|\"{{3}}|{_SHORT_STRING}", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "\n": ""}
_VERSION = lazy_pattern(r"3\.\d+(?:\.\d+)?")


def read(document: Document) -> Environment:
    """Read a notebook.

    Raises:
        Malformed: if it is not JSON, or has no cells where a notebook has them.
    """
    content = parse(document.text, document.path)
    cells = _cells(content)
    if cells is None:
        raise Malformed("has no cells as a notebook has", path=document.path)
    places = Places(document.text, document.path)
    reason = f"{BEST_EFFORT}: cells may run in any order, and what was installed before is not seen"
    asked = AuditRequest()
    asked.skipped.append(Skipped(what=document.path, reason=reason, gap=False, location=Location(path=document.path)))
    files: set[str] = set()

    def include(name: str, location: Location) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
        if name in files:  # of a file that is installed twice nothing is new
            return (), ()
        files.add(name)
        # A notebook is started in its own folder or in one above it.
        return read_included(document, name.removeprefix("./"), location, build_contexts(document), above=True)

    for keys, cell in cells[:MAX_CELLS]:
        _cell(keys, cell, places, include, asked)
    if len(cells) > MAX_CELLS:
        reason = f"is one of {len(cells):,} cells: the first {MAX_CELLS:,} are read"
        asked.skipped.append(Skipped(what="a cell", reason=reason, location=places.of(*cells[MAX_CELLS][0])))
    return Environment(
        source=document.path,
        kind="notebook",
        packages=tuple(asked.packages),
        closed=False,
        skipped=tuple(asked.skipped),
        python=_python(content),
    )


def _cells(content: Any) -> list[tuple[tuple[str | int, ...], Any]] | None:
    """The cells with the keys that lead to them; before version 4 they lie in worksheets."""
    if not isinstance(content, dict):
        return None
    if isinstance(cells := content.get("cells"), list):
        return [(("cells", index), cell) for index, cell in enumerate(cells)]
    if not isinstance(sheets := content.get("worksheets"), list):
        return None
    return [
        (("worksheets", number, "cells", index), cell)
        for number, sheet in enumerate(sheets)
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
        for index, cell in enumerate(sheet["cells"])
    ]


def _python(content: Any) -> str | None:
    """The version of the kernel that ran the notebook last."""
    match content:
        case {"metadata": {"language_info": {"name": "python", "version": str(version)}}}:
            return version if _VERSION.fullmatch(version) else None
    return None


def _cell(keys: tuple[str | int, ...], cell: Any, places: Places, include: Include, asked: AuditRequest) -> None:
    whole = places.of(*keys)
    if not isinstance(cell, dict):
        asked.skipped.append(Skipped(what="a cell", reason="is not an object", location=whole))
        return
    if cell.get("cell_type") != "code":
        return
    key = "source" if "source" in cell else "input"
    source = cell.get(key, "")
    pieces = [source] if isinstance(source, str) else source
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        asked.skipped.append(Skipped(what="a cell", reason="its source is not text", location=whole))
        return
    if not any(_MENTIONS.search(piece) for piece in pieces):
        return
    text = "".join(pieces)
    if len(text) > MAX_SCRIPT:
        reason = f"is longer than {MAX_SCRIPT // 1024} KiB"
        asked.skipped.append(Skipped(what="a cell", reason=reason, location=whole))
        return
    starts: list[int] = []
    length = 0
    for piece in pieces:
        starts.append(length)
        length += len(piece)

    def place(offset: int) -> Location:
        index = max(bisect_right(starts, offset) - 1, 0)
        where = places.of(*keys, key) if isinstance(source, str) else places.of(*keys, key, index)
        # Escapes in the JSON string move the columns.
        return Location(path=where.path, line=where.line)

    for start, end, shell in _parts(text):
        if shell:
            _shell(text, start, end, place, include, asked)
        else:
            _calls(text, start, end, place, include, asked)


def _parts(text: str) -> Iterator[tuple[int, int, bool]]:
    """The pieces of a cell, as (start, end, is it shell): magics, and the Python between them."""
    begin = 0
    while magic := _CELL_MAGIC.match(text, begin):
        if magic[1] in _SHELL_MAGICS or (magic[1] == "script" and re.match(r"\s*(?:/\S*/)?(?:ba|z)?sh\b", magic[2])):
            yield magic.end(), len(text), True
            return
        if magic[1] not in _PYTHON_MAGICS:
            return  # another language, or a file that is written
        begin = magic.end()
    python = begin
    position = begin
    inside: str | None = None  # the quotes of the string that spans lines
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        magic = _LINE_MAGIC.match(text, position, end) if inside is None else None
        if magic is None:
            inside = _open_string(text[position:end], inside)
            position = end + 1
            continue
        while text[position:end].endswith("\\") and end < len(text):
            following = text.find("\n", end + 1)
            end = len(text) if following < 0 else following
        yield python, position, False
        yield magic.end(), end, True
        position = python = min(end + 1, len(text))
    yield python, len(text), False


def _open_string(line: str, inside: str | None) -> str | None:
    """The triple quotes that are open at the end of a line, if they were ``inside`` at its start."""
    position = 0
    while position < len(line):
        if inside is not None:
            end = line.find(inside, position)
            if end < 0:
                return inside
            position, inside = end + 3, None
            continue
        match = _QUOTES.search(line, position)
        if match is None or match[0] == "#":
            return None
        if match[0] in ("'''", '"""'):
            inside = match[0]
        position = match.end()
    return inside


def _shell(
    text: str, start: int, end: int, place: Callable[[int], Location], include: Include, asked: AuditRequest
) -> None:
    script = Script(text[start:end], lambda offset: place(start + offset), include, braces=True)
    read_script(script, {}, asked)


# Calls from Python


def _calls(
    text: str, start: int, end: int, place: Callable[[int], Location], include: Include, asked: AuditRequest
) -> None:
    """``subprocess.check_call([sys.executable, "-m", "pip", "install", "torch==2.5.1"])``."""
    position = start
    while match := _TOKEN.search(text, position, end):
        position = match.end()
        if match["call"] is None:
            continue
        words, position = _arguments(text, position, end)
        if words is None:
            continue
        if len(words) == 1 and " " in words[0].text.strip():
            word = words[0]

            def inner(offset: int, word: Word = word) -> Location:
                return place(word.place(offset))

            # In an f-string braces are variables, as they are behind a `!`.
            read_script(Script(word.text, inner, include, braces=bool(word.unknown)), {}, asked)
        else:
            read_command(Command(words), Script(text, place, include), asked)


def _arguments(text: str, position: int, end: int) -> tuple[list[Word] | None, int]:
    """The words of the first argument, a list or a string; None where it is neither. And where to go on."""
    words: list[Word] = []
    depth = 0
    fresh = True  # is the next token the first of an element?
    literal = True
    while match := _TOKEN.search(text, position, end):
        if match["call"] is not None and words:
            return None, position
        position = match.end()
        if match["comment"] is not None:
            continue
        if match["open"] is not None:
            depth += 1
            if depth > 1:
                literal = False
        elif match["close"] is not None:
            if depth == 0:
                break
            depth -= 1
            if depth == 0:
                break
        elif match["comma"] is not None:
            if depth == 0:
                break
            fresh = True
        elif match["string"] is not None:
            prefix = (match["prefix"] or "").lower()
            word = Word(start=match.start("string"), quoted=True)
            quotes = 3 if match["string"][:3] in ("'''", '"""') else 1
            if len(match["string"]) < 2 * quotes or not match["string"].endswith(match["string"][:quotes]):
                literal = False  # it is not closed
            value, places = _unescaped(match["string"][quotes:-quotes], match.start("string") + quotes, "r" in prefix)
            word.parts.append(value)
            word.places.extend(places)
            if "f" in prefix and "{" in value:
                word.unknown.append(value)
            if fresh:
                words.append(word)
            else:  # strings side by side are one
                words[-1].parts.append(value)
                words[-1].places.extend(places)
                words[-1].unknown.extend(word.unknown)
            fresh = False
        elif match["word"] is not None and fresh:
            # `sys.executable`, or a variable that nobody knows
            name = match["word"]
            word = Word(start=match.start(), quoted=True)
            value = "python" if name == "sys.executable" else f"${name}"
            word.add(value, match.start(), moving=False)
            if value != "python":
                word.unknown.append(f"${name}")
            words.append(word)
            fresh = False
        else:
            literal = False
    return (words if literal and words else None), position


def _unescaped(text: str, start: int, raw: bool) -> tuple[str, list[int]]:
    if raw or "\\" not in text:
        return text, list(range(start, start + len(text)))
    signs: list[str] = []
    places: list[int] = []
    index = 0
    while index < len(text):
        step = 2 if text[index] == "\\" and text[index + 1 : index + 2] in _ESCAPES else 1
        sign = _ESCAPES[text[index + 1]] if step == 2 else text[index]
        signs.append(sign)
        places.extend([start + index] * len(sign))
        index += step
    return "".join(signs), places
