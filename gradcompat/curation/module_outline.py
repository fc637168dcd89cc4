"""The text of a module without what is not read of it, bodies and docstrings, in which most changes are.

Two releases between which nothing else has changed have the same outline, which is parsed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

# Strings and comments, which are passed over so that what follows stands in neither; of long strings, their beginning.
STRINGS = r"""\"\"\"|'''|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'|\#[^\n]*|\\\n"""
_STRING = re.compile(STRINGS)
# A comment goes to the end of its line: one that could end earlier would be matched in as many ways as it is long.
_TEXT = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\#[^\n]*(?=\n))"""
_DEEPEST = 4


def _within_parentheses(depth: int) -> str:
    inner = rf"|\({_within_parentheses(depth - 1)}\)" if depth else ""
    return rf"""[^()"'\#]*(?:(?:{_TEXT}{inner})[^()"'\#]*)*"""


# From the name to the break behind the colon: a body that stands on lines of its own follows.
_HEADER = re.compile(
    rf"""[ \t]*(\w+)[ \t]*\({_within_parentheses(_DEEPEST)}\)[ \t]*"""
    rf"""(?:->[^:"'\#]*(?:{_TEXT}[^:"'\#]*)*)?:[ \t]*(?:\#[^\n]*)?\n"""
)
_DOCSTRING = r"""(?P<indent>[ \t]+)(?P<quotes>[rR]?(?:\"\"\"|'''))"""
_OF_CLASS = re.compile(rf"""\nclass[ \t]+\w+[ \t]*(?:\({_within_parentheses(1)}\))?[ \t]*:[ \t]*\n{_DOCSTRING}""")
_FIRST_TEXT = re.compile(_DOCSTRING)
# Bodies that are read: what warns of a keyword (see `rename_reader`), what `__getattr__` answers, and losses.
_WARNS = ("warn", "deprecate")
_OF_WHAT_GOES = re.compile(r"deprecat|rename|remove")
_BETWEEN_LITERALS = re.compile(r"""["'][ \t\n]*[A-Za-z]{0,2}["']""")
# What only an older Python takes is kept, so that it is seen that the module cannot be parsed.
_OLD_SYNTAX = re.compile(
    r"""\n[ \t]+(?:print[ \t]+["'\w(%]|print[ \t]*>>|exec[ \t]+["'\w]"""
    r"""|except[ \t]+[\w.()]+[ \t]*,|raise[ \t]+[\w.]+[ \t]*,)"""
)
_INNER_IMPORT = re.compile(r"\n[ \t]+(?:import|from)[ \t]")


class Unclosed(Exception):
    """A string does not end in the text that it begins in."""


def outline(text: str, *, keeping_lines: bool) -> str:
    """A text of Python without docstrings of classes and bodies of functions that say nothing, which are ``...``.

    Nothing is lost that :mod:`gradcompat.curation.module_reader` looks at. What could not be taken out for certain
    stays. Where the text is no Python at all, its outline may be.

    Args:
        text: whole statements.
        keeping_lines: what is left stands on the lines that it stood on. It does in any case where something is
            imported in the body of a class.
    """
    lowered = text.lower()
    if (
        ("def " not in text and "class " not in text)
        or "\r" in text
        or "\f" in text
        or "\0" in text
        # Methods of models of pydantic are read, too.
        or "validator" in text
        or ("Config" in text and re.search(r"class[ \t]+Config\b", text) is not None)
        # It ends within a statement: without the body that this is in, the rest would be taken for whole.
        or text.endswith("\\")
        or len(lowered) != len(text)
    ):
        return text
    parts: list[str] = []
    breaks: list[int] = []
    start = 0
    padded = f"\n{text}"
    try:
        for begin, end, instead in _silent(padded, f"\n{lowered}"):
            parts += (padded[start:begin], instead)
            breaks.append(padded.count("\n", begin, end))
            start = end
    except Unclosed:
        return text
    if not parts:
        return text
    parts.append(padded[start:])
    if not keeping_lines:
        found = "".join(parts)
        if _INNER_IMPORT.search(found) is None:
            return found[1:]
    for number, count in enumerate(breaks):
        parts[2 * number + 1] += "\n" * count
    return "".join(parts)[1:]


def _silent(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Where something begins and ends that can be left out, and what stands there instead."""
    warns = any(word in lowered for word in _WARNS)
    old = [found.start() for found in _OLD_SYNTAX.finditer(text)]
    place = 0
    docstring = _of_the_class(text)
    if docstring is not None:
        place = _closing(text, docstring["quotes"][-3:], docstring.end())
        yield docstring.end("indent"), place, '""'
    while (function := _next_function(text, place)) is not None:
        indent, header = function
        begin = header.end()
        docstring = _FIRST_TEXT.match(text, begin)
        code = begin if docstring is None else _closing(text, docstring["quotes"][-3:], docstring.end())
        place = _end_of_body(text, code - 1, len(indent))
        if not (
            header[1] == "__getattr__"
            or (header[1] == "forward" and "labels" in header[0])
            or (old and any(code <= one + 1 <= place for one in old))
            or (warns and _warns_of_what_goes(lowered[code:place]))
        ):
            yield begin, place, f"{indent} ..."
        elif docstring is not None:
            yield docstring.end("indent"), code, '""'


def _of_the_class(text: str) -> re.Match[str] | None:
    """The docstring of the class that the text is."""
    if text.startswith("\nclass "):
        return _OF_CLASS.match(text)
    place = text.find("\nclass ") if text.startswith("\n@") else -1
    if place < 0 or text.count('"""', 0, place) % 2 or text.count("'''", 0, place) % 2:
        return None
    return _OF_CLASS.match(text, place)


def _next_function(text: str, place: int) -> tuple[str, re.Match[str]] | None:
    """The next function with a body on lines of its own that stands in no string: its indentation, and what follows it.

    Args:
        text: all of it.
        place: outside of strings.
    """
    passed = place
    while (found := text.find("def ", passed)) >= 0:
        passed = found + 4
        line = text.rfind("\n", 0, found)
        indent, _, between = text[line + 1 : found].partition("async")
        if line < place or indent.strip() or between.strip():
            continue
        if '"""' in (before := text[place:line]) or "'''" in before:
            place = _outside(text, place, line)
            if place > line:
                passed = max(place, passed)
                continue
        header = _HEADER.match(text, passed)
        if header is not None:
            return indent, header
    return None


def _outside(text: str, place: int, line: int) -> int:
    """The place at or behind that of a line that stands in no string."""
    while place < line and (found := _STRING.search(text, place, line)) is not None:
        place = behind(text, found)
    return max(place, line)


def _warns_of_what_goes(body: str) -> bool:
    if not any(word in body for word in _WARNS):
        return False
    # A word may begin in one literal and end in the next.
    return _OF_WHAT_GOES.search(_BETWEEN_LITERALS.sub("", body)) is not None


def _end_of_body(text: str, place: int, indent: int) -> int:
    """The break before the first statement that is not deeper than its function; the end of the text where none is."""
    quick, careful = _statement_at(indent)
    found = quick.search(text, place)
    end = len(text) if found is None else found.start()
    body = text[place:end]
    if '"""' not in body and "'''" not in body and "\\\n" not in body:
        return end
    while (found := careful.search(text, place)) is not None:
        if found[0] == "\n":
            return found.start()
        place = behind(text, found)
    return len(text)


@lru_cache(maxsize=64)
def _statement_at(indent: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The break before a statement that is not deeper; the same, or a string."""
    start = rf"\n(?=[ \t]{{0,{indent}}}[^\s\#])"
    return re.compile(start), re.compile(rf"{STRINGS}|{start}")


def behind(text: str, found: re.Match[str]) -> int:
    """The place behind a string or a comment that begins with what was found.

    Raises:
        Unclosed: if there is none.
    """
    return _closing(text, found[0], found.end()) if found[0] in ('"""', "'''") else found.end()


def _closing(text: str, quotes: str, place: int) -> int:
    while (end := text.find(quotes, place)) >= 0:
        before = end
        while text[before - 1] == "\\":
            before -= 1
        if (end - before) % 2 == 0:
            return end + 3
        place = end + 1
    raise Unclosed
