"""Names that a module puts into others: ``utils.DownloadConfig = DownloadConfig``, ``setattr(plugins, name, found)``.

Packages keep old names alive so, as datasets 2 and Lightning's graveyard do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

# What is assigned at the top of a module, and what any function of it may set.
_ASSIGNS = re.compile(rb"\n([A-Za-z_]\w*)(?:\.\w+)+[ \t]*=(?!=)")
_SETS = re.compile(rb"\bsetattr\(\s*(?:getattr\(\s*)?(?!self\b|cls\b)([A-Za-z_]\w*)\.")
# What stands behind the word: in parentheses, or up to the end of the line.
_IMPORTS = re.compile(rb"\bimport\b[ \t]*(\((?:[^()#]|#[^\n]*)*\)|(?:[^\n\\]|\\[\s\S])*)")
_WORD = re.compile(rb"\w+")
ANY = "*"


def given_names(source: bytes, module: str, *, package: bool) -> tuple[str, ...]:
    """The names that a module may put into others, as ``a.b name``; sorted.

    A name that is computed is ``*``, and so is the last part of a module that is: ``a.b.* *``.

    Args:
        source: the file.
        module: its name, absolute.
        package: the file is its ``__init__``.

    Raises:
        SyntaxError: if it is not Python 3.
        ValueError: if it cannot be decoded.
    """
    owners = {found[1] for found in _ASSIGNS.finditer(b"\n" + source)}
    if b"setattr(" in source:
        owners.update(found[1] for found in _SETS.finditer(source))
    # Most are functions and classes of the module itself, whose names no import has.
    if not owners or owners.isdisjoint(word for found in _IMPORTS.finditer(source) for word in _WORD.findall(found[1])):
        return ()
    tree = ast.parse(source)
    above = module if package else module.rpartition(".")[0]
    imported = {name: full for node in ast.walk(tree) for name, full in _imported(node, above)}
    found = {f"{owner} {name}" for owner, name in _put(tree, imported)}
    return tuple(sorted(found))


def _imported(node: ast.AST, above: str) -> Iterator[tuple[str, str]]:
    """The names that an import binds, with what they stand for."""
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        case ast.ImportFrom(module=written, names=aliases, level=level):
            parts = above.split(".")
            base = ".".join(parts[: len(parts) - level + 1]) if level else ""
            full = ".".join(part for part in (base, written) if part)
            for alias in aliases:
                yield alias.asname or alias.name, f"{full}.{alias.name}"


def _put(tree: ast.Module, imported: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Attribute) and (owner := _owner(target.value, imported)) is not None:
                    yield owner, target.attr
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="setattr"), args=[target, name, _]):
                owner = _owner(target, imported)
                if owner is not None:
                    literal = name.value if isinstance(name, ast.Constant) else ANY
                    yield owner, str(literal)


def _owner(node: ast.expr, imported: Mapping[str, str]) -> str | None:
    """The module that an expression stands for, if it begins with something that is imported."""
    match node:
        case ast.Name(id=name):
            return imported.get(name)
        case ast.Attribute(value=inner, attr=name):
            owner = _owner(inner, imported)
            return None if owner is None else f"{owner}.{name}"
        case ast.Call(func=ast.Name(id="getattr"), args=[inner, *_]):
            owner = _owner(inner, imported)
            return None if owner is None else f"{owner}.{ANY}"
    return None
