"""Modules that a module puts into ``sys.modules``, or serves by a finder on ``sys.meta_path``: no file has their names.

The same is true of a package that adds folders to its ``__path__``, as Keras 3.3 to 3.9 do: a file has them, elsewhere.
Packages keep old paths alive so: Lightning's graveyard, ``sentence_transformers.losses`` since 5.4.0, the aliases of
transformers 5. Which of its strings are such names is not followed: each could be one.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

# Not `sys.modules[__name__] = …`, with which a module replaces itself.
_PUTS = re.compile(
    rb"sys\.modules\s*\[(?!\s*__name__\s*\])[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*\]\s*=(?!=)"
    rb"|sys\.modules\.(?:setdefault|update|__setitem__)\("
)
_SERVES = re.compile(rb"sys\.meta_path\s*(?:\.\s*(?:append|extend|insert)\(|\[[^\]\n]*\]\s*=(?!=)|\+?=(?!=))")
_EXTENDS = re.compile(
    rb"^[ \t]*__path__\s*(?:\.\s*(?:append|extend|insert)\(|\[[^\]\n]*\]\s*=(?!=)|\+?=(?!=))", re.MULTILINE
)
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,9}")
_COMPOSED = re.compile(r"(?=.*[A-Za-z]{3})(?:\.|(?=.*\*))[\w*]+(?:\.[\w*]+){0,9}")
_MOST = 200  # characters
ANYTHING = "*"


@dataclass(frozen=True, slots=True)
class Installs:
    """What a module may install.

    Attributes:
        paths: its strings that have the form of a module's path, absolute or below its own package, with ``*`` for
            what an f-string puts in; one below the module itself (``f"{__name__}.old"``) begins with a dot. Sorted.
        finder: it puts a finder on ``sys.meta_path``, or adds to its ``__path__``, which may answer for any path.
    """

    paths: tuple[str, ...]
    finder: bool


NONE = Installs((), finder=False)


def installs(source: bytes) -> Installs:
    """What a module may install, by its source.

    Raises:
        SyntaxError: if it is not Python 3.
        ValueError: if it cannot be decoded.
    """
    if b"sys" not in source and b"__path__" not in source:
        return NONE
    serves = b"sys.meta_path" in source and _SERVES.search(source) is not None
    extends = b"__path__" in source and _EXTENDS.search(source) is not None
    if not serves and (b"sys.modules" not in source or _PUTS.search(source) is None):
        return Installs((), finder=True) if extends else NONE
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if len(text) <= _MOST and _PATH.fullmatch(text):
                found.add(text)
            case ast.JoinedStr(values=parts):
                text = "".join(map(_part, parts))
                if len(text) <= _MOST and _COMPOSED.fullmatch(text):
                    found.add(text)
    return Installs(tuple(sorted(found)), serves or extends)


def _part(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=ast.Name(id="__name__")):
            return ""
    return ANYTHING
