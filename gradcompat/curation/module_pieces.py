"""Modules in pieces: the classes and functions at their top, most of which are the same in the next release."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradcompat.curation.module_outline import STRINGS, behind

# A break before a line that begins a statement: a decorator, a definition, or anything else. A search for `^` takes
# many times as long.
_START = r"\n(?:(@)|(class\s|def\s|async\s)|[A-Za-z_])"
_STARTS = re.compile(_START)
_STARTS_OUTSIDE = re.compile(rf"{STRINGS}|{_START}")
_CODING = re.compile(rb"[ \t\f]*#.*?coding[:=](?![ \t]*utf-?8\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of a module.

    Attributes:
        text: of them.
        before: how many lines stand before.
        definition: they begin with a class or a function.
    """

    text: str
    before: int
    definition: bool


def pieces(source: bytes) -> Iterator[Piece] | None:
    """A module in pieces; None where it is not in UTF-8, or says which encoding it is in.

    A line that seems to begin a statement may stand in a string or in brackets. Then the piece before it ends within
    them and cannot be parsed, so that whoever can parse every piece has what the whole says.
    """
    text = _decoded(source)
    return None if text is None else _pieces(text, _STARTS.finditer(f"\n{text}"))


def careful_pieces(source: bytes) -> Iterator[Piece] | None:
    """The same, with what stands in strings passed over, which takes longer."""
    text = _decoded(source)
    return None if text is None else _pieces(text, _starts_outside(f"\n{text}"))


def _decoded(source: bytes) -> str | None:
    if any(_CODING.match(line) for line in source[:400].split(b"\n")[:2]):
        return None
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _starts_outside(text: str) -> Iterator[re.Match[str]]:
    place = 0
    while (found := _STARTS_OUTSIDE.search(text, place)) is not None:
        if found[0][0] == "\n":
            yield found
        place = behind(text, found)


def _pieces(text: str, starts: Iterable[re.Match[str]]) -> Iterator[Piece]:
    # A place where a line begins, in the text behind one more break, is that of the line in the text.
    start = lines = 0
    definition = decorated = False
    for match in starts:
        begins = match[1] is not None or match[2] is not None
        if decorated:  # what follows a decorator is of the same piece
            decorated = match[2] is None
        elif begins or definition:
            if match.start() > start:
                part = text[start : match.start()]
                yield Piece(part, lines, definition)
                lines += part.count("\n")
            start = match.start()
            definition = begins
            decorated = match[1] is not None
    if start < len(text):
        yield Piece(text[start:], lines, definition)


def only_definition(body: list[ast.stmt]) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """The class or function that a piece is; None where there is more in it."""
    match body:
        case [ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as node]:
            return node
    return None
