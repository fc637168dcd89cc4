"""Training code in Jupyter notebooks: the code cells in their order, read as one program.

Cells may have been run in another order, of which the file says nothing. Magics (``!``, ``%``, ``%%``) are left out,
and a cell that is no Python is named and skipped. Lines are those of the notebook's file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from gradcompat.budget import MAX_CELLS
from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners.code import python_code, syntax
from gradcompat.scanners.key_mapping import Feeds
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

FEEDS: Feeds = python_code.FEEDS

# Cell magics behind which Python goes on; behind any other there is another language, or a file that is written.
_PYTHON_MAGICS = frozenset({"capture", "time", "timeit", "prun", "python", "python3"})
_CELL_MAGIC = lazy_pattern(r"\s*%%(\S*)[^\n]*")
# `!pip …`, `%cd …`, `files = !ls`, `?name`, and commands that IPython takes without a `%`.
_LINE_MAGIC = lazy_pattern(
    r"[ \t]*(?:(?:[\w.,\[\]][\w.,\[\] ]*=[ \t]*)?(?:!|%[a-zA-Z]|\?)|(?:pip3?|conda|cd|ls)[ \t]+\w)"
)
_HELP = lazy_pattern(r"[\w.]+\?{1,2}[ \t]*\Z")


def scan(document: Document) -> Context:
    """What the code cells of a notebook say of the run.

    Raises:
        Malformed: if it is no notebook, or its code uses no library for training.
    """
    content = parse(document.text, document.path)
    cells = code_cells(content)
    if cells is None:
        raise Unrecognised("has no cells as a notebook has", path=document.path)
    places = Places(document.text, document.path)
    lines: list[Location] = []  # of each line of the program, where it stands in the notebook
    program: list[ast.stmt] = []
    skipped: list[Skipped] = []
    texts: list[str] = []
    length = 0
    for number, (keys, pieces) in enumerate(cells):
        if number == MAX_CELLS:
            reason = f"{MAX_CELLS:,} stand before it: the rest is not read"
            skipped.append(Skipped(what="a cell", reason=reason, location=places.of(*keys)))
            break
        text = "".join(pieces)
        length += len(text)
        if length > syntax.MAX_CHARACTERS:
            reason = f"the cells before it have {syntax.MAX_CHARACTERS // 2**10} KiB"
            skipped.append(Skipped(what="a cell", reason=reason, location=places.of(*keys)))
            break
        texts.append(text)
        first = len(lines)
        lines += lines_of(pieces, keys, places)
        try:
            tree = _tree(text, document.path)
        except Malformed as error:
            line = min(max((error.line or 1) - 1, 0), len(lines) - first - 1)
            skipped.append(Skipped(what="a cell", reason=error.message, location=lines[first + line]))
            continue
        for statement in tree.body:
            program.append(ast.increment_lineno(statement, first) if first else statement)

    def place(node: ast.AST) -> Location:
        line = getattr(node, "lineno", None)
        return lines[line - 1] if line is not None and line <= len(lines) else Location(path=document.path)

    # What its cells print, and pictures, are no part of the program, and may be most of the file.
    code = replace(document, text="\n".join(texts))
    found = python_code.context(code, "notebook", ast.Module(body=program, type_ignores=[]), place)
    return replace(found, skipped=(*skipped, *found.skipped), unset=found.unset if not skipped else ())


def code_cells(content: Any) -> list[tuple[tuple[str | int, ...], list[str]]] | None:
    """The source of each code cell in pieces, with the keys to it; before version 4 they lie in worksheets."""
    if not isinstance(content, dict) or "nbformat" not in content:
        return None
    if isinstance(content.get("cells"), list):
        sheets: list[tuple[tuple[str | int, ...], Any]] = [((), content)]
    elif isinstance(content.get("worksheets"), list):
        sheets = [(("worksheets", number), sheet) for number, sheet in enumerate(content["worksheets"])]
    else:
        return None
    found: list[tuple[tuple[str | int, ...], list[str]]] = []
    for keys, sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        for index, cell in enumerate(cells if isinstance(cells, list) else []):
            if not isinstance(cell, dict) or cell.get("cell_type") != "code":
                continue
            key = "source" if "source" in cell else "input"
            source = cell.get(key, "")
            # A source that is one string has one place in the file.
            pieces = [source] if isinstance(source, str) else source
            if isinstance(pieces, list) and all(isinstance(piece, str) for piece in pieces):
                found.append(((*keys, "cells", index, key), pieces))
    return found


def lines_of(pieces: list[str], keys: tuple[str | int, ...], places: Places) -> Iterator[Location]:
    """Where each line of a cell stands, of which one may be in pieces and one piece have several."""
    fresh = True
    for index, piece in enumerate(pieces):
        where = places.of(*keys, index)
        at = Location(path=where.path, line=where.line)  # escapes in the JSON string move the columns
        # As the parser of Python counts lines.
        for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", piece):
            if fresh:
                yield at
            fresh = line.endswith(("\n", "\r"))
    yield places.of(*keys)  # where the parser is when a cell ends too early


def is_python(cell: str) -> bool:
    """Is a cell Python, and no other language or a file that is written?"""
    magic = _CELL_MAGIC.match(cell)
    return magic is None or magic[1] in _PYTHON_MAGICS


def _tree(text: str, path: str) -> ast.Module:
    """The syntax tree of a cell, without its magics.

    Raises:
        Malformed: if it is no Python then either.
    """
    if not is_python(text):
        return ast.Module(body=[], type_ignores=[])
    cell = _CELL_MAGIC.match(text)
    if cell is not None:
        # Only the lines count, not what is in this one.
        text = "\n" * text.count("\n", 0, cell.end()) + text[cell.end() :]
    try:
        return syntax.parse(text, path)
    except Malformed:
        plain = _plain(text)
        if plain == text:
            raise
        return syntax.parse(plain, path)


def _plain(text: str) -> str:
    """The text with `pass` in the place of magics; a magic that ends with a backslash goes on in the next line."""
    lines = re.split(r"(?<=\n)", text)
    continued = False
    for index, line in enumerate(lines):
        body = line.rstrip("\r\n")
        ending = line[len(body) :]
        magic = _LINE_MAGIC.match(body) or _HELP.match(body)
        if continued:
            lines[index] = ending
            continued = body.endswith("\\")
        elif magic is not None:
            indent = body[: len(body) - len(body.lstrip())]
            lines[index] = f"{indent}pass{ending}"
            continued = body.endswith("\\")
    return "".join(lines)
