"""Keywords that a function still takes and warns of: their new names, where the warning stands beside both."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from gradcompat.curation.word_lines import WordLines

_WARNS = frozenset({"warn", "warning", "warning_once", "warning_advice", "deprecate", "deprecation_warning"})
# What each of them has in it, in small letters.
WARNING = ("warn", "deprecate")
_SAYS_SO = re.compile(r"deprecat|renamed|will be removed", re.IGNORECASE)
# How a warning speaks of the keyword that goes, and of the one that comes.
_OLD = r"\b{0}\b(?![.(]).{{0,80}}?(?:deprecat|renamed|removed)|deprecat\w*\W+(?:\w+\W+){{0,3}}{0}\b"
# Behind these words stands a keyword for something else: "If you want to force a new download, use `force_download`".
_OTHERWISE = re.compile(r"\bif you (?:want|need|wish|would like|prefer|intend)\b[^.;]*", re.IGNORECASE)
_NEW = r"\b(?:use|favou?r of|renamed (?:to|as)|replaced (?:by|with)|set|pass)\s+(?:the\s+)?[`'\"]*{0}\b(?![.(])"


def warned_renames(
    node: ast.FunctionDef | ast.AsyncFunctionDef, names: Collection[str], warning_lines: WordLines | None = None
) -> Iterator[str]:
    """``old>new`` for each keyword of which a function warns if it is given.

    It does where a condition asks for the old name, and below it there is a warning that calls it deprecated and says
    which one to use, or the value of the old one is put into another.

    Args:
        node: the function, or the ``__post_init__`` of a dataclass.
        names: its parameters, or the fields.
        warning_lines: where :data:`WARNING` stands in what the function was parsed from, if that was looked for.
    """
    found: dict[str, str] = {}
    if warning_lines is not None and not warning_lines.within(node):
        return iter(())
    for inner in _conditions(node.body):
        if warning_lines is not None and not warning_lines.within(inner):
            continue
        text = " ".join(text for statement in inner.body for text in _warnings(statement))
        for old in sorted(_asked(inner.test, names)) if text else ():
            if re.search(_OLD.format(re.escape(old)), text, re.IGNORECASE) is None:
                continue
            others = set(names) - {old}
            given = {new for statement in inner.body for new in _takers(statement, old)} & others
            advice = _OTHERWISE.sub("", text)
            said = {new for new in others if re.search(_NEW.format(re.escape(new)), advice, re.IGNORECASE)}
            new = (given & said) or said or given
            if len(new) == 1:
                found.setdefault(old, new.pop())
    # Two that stand in for one another are no renames.
    return (f"{old}>{new}" for old, new in found.items() if found.get(new) != old)


def _conditions(body: Sequence[ast.stmt]) -> Iterator[ast.If]:
    """The ``if`` statements of a function, those in other statements too; expressions hold none."""
    for statement in body:
        match statement:
            case ast.If():
                yield statement
                yield from _conditions(statement.body)
                yield from _conditions(statement.orelse)
            case ast.With() | ast.For() | ast.While() | ast.Try():
                yield from _conditions(statement.body)


def _warnings(statement: ast.stmt) -> Iterator[str]:
    """The texts of warnings in a statement that call something deprecated."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and _last(node.func) in _WARNS:
            parts = [
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            text = " ".join(parts)
            if _SAYS_SO.search(text):
                yield text


def _asked(test: ast.expr, names: Collection[str]) -> set[str]:
    """The keywords that a condition asks for: ``old``, ``self.old is not None``, ``"old" in kwargs``."""
    found: set[str] = set()
    denied = {id(inner) for node in ast.walk(test) if _is_not(node) for inner in ast.walk(node)}
    for node in ast.walk(test):
        if id(node) in denied:
            continue
        match node:
            case ast.Compare(left=ast.Constant(value=str(key)), ops=[ast.In()], comparators=[ast.Name()]):
                found.add(key)
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name) if name in names:
                found.add(name)
    return found


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _takers(statement: ast.stmt, old: str) -> Iterator[str]:
    """What the value of the old keyword is put into."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign) and old in _mentioned(node.value):
            for target in node.targets:
                yield _last(target)


def _mentioned(value: ast.expr) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(value):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.add(name)
    return found


def _last(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
