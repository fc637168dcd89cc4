"""What a module's ``__getattr__`` answers, followed along its statements for the names in it and for any other."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto


@dataclass(frozen=True, slots=True)
class Answered:
    """What it answers.

    Attributes:
        names: those that it certainly gives.
        closed: it raises AttributeError for every name that the module's source does not mention.
    """

    names: frozenset[str]
    closed: bool


class _End(Flag):
    """How it may end for a name."""

    NONE = 0
    GIVES = auto()
    RAISES = auto()
    FALLS = auto()  # off its end, or on to the next statement


_OTHER = ""  # no identifier is empty


def answered(hook: ast.expr | ast.FunctionDef, tables: Mapping[str, ast.expr]) -> Answered:
    """Follow a hook.

    Args:
        hook: the function, or the expression that makes it.
        tables: what the module assigns to its names.
    """
    if isinstance(hook, ast.FunctionDef):
        if not hook.args.args:
            return Answered(frozenset(), closed=False)
        reader = _Hook(hook.args.args[0].arg, tables)
        mentioned = _mentioned(hook, tables)
        given = frozenset(name for name in mentioned if reader.ends(hook.body, name) == _End.GIVES)
        unsure = any(reader.ends(hook.body, name) & _End.GIVES for name in mentioned - given)
        return Answered(given, closed=reader.ends(hook.body, _OTHER) == _End.RAISES and not unsure)
    return _of_jax(hook, tables)


def _of_jax(made: ast.expr, tables: Mapping[str, ast.expr]) -> Answered:
    """``deprecation_getattr(__name__, _deprecations)``: a name whose entry has no value raises."""
    match made:
        case ast.Call(func=func, args=[_, ast.Name(id=table)]) if "deprecation_getattr" in ast.unparse(func):
            found = tables.get(table)
            if isinstance(found, ast.Dict) and all(isinstance(key, ast.Constant) for key in found.keys):
                names = set()
                for key, value in zip(found.keys, found.values, strict=True):
                    match value:
                        case ast.Tuple(elts=[_, ast.Constant(value=None)]):
                            continue
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        names.add(key.value)
                return Answered(frozenset(names), closed=True)
    return Answered(frozenset(), closed=False)


def _mentioned(hook: ast.FunctionDef, tables: Mapping[str, ast.expr]) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(hook):
        if isinstance(node, ast.Compare):
            for part in [node.left, *node.comparators]:
                found |= _literals(part, tables) or set()
    return frozenset(name for name in found if name.isidentifier())


def _literals(value: ast.expr, tables: Mapping[str, ast.expr]) -> set[str] | None:
    """The strings of a literal container, or of the one that a name stands for; None where they are not literal."""
    match value:
        case ast.Name(id=name) if name in tables and not isinstance(tables[name], ast.Name):
            return _literals(tables[name], tables)
        case ast.Constant(value=str(text)):
            return {text}
        case ast.Dict(keys=parts):
            pass
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            pass
        case ast.Call(func=ast.Name(id="set" | "frozenset" | "list" | "tuple"), args=[inner], keywords=[]):
            return _literals(inner, tables)
        case _:
            return None
    found = set()
    for part in parts:
        if not (isinstance(part, ast.Constant) and isinstance(part.value, str)):
            return None
        found.add(part.value)
    return found


class _Hook:
    """Follows the statements of one hook."""

    def __init__(self, parameter: str, tables: Mapping[str, ast.expr]) -> None:
        self._parameter = parameter
        self._tables = tables

    def ends(self, body: Sequence[ast.stmt], name: str) -> _End:
        """How the statements may end for a name."""
        found = _End.NONE
        for statement in body:
            one = self._statement(statement, name)
            found |= one & ~_End.FALLS
            if _End.FALLS not in one:
                return found
        return found | _End.FALLS

    def _statement(self, node: ast.stmt, name: str) -> _End:
        match node:
            case ast.Return():
                return _End.GIVES
            case ast.Raise():
                return _End.RAISES
            case ast.If():
                holds = self._test(node.test, name)
                found = _End.NONE
                if holds is not False:
                    found |= self.ends(node.body, name)
                if holds is not True:
                    found |= self.ends(node.orelse, name)
                return found
            case ast.With():
                return self.ends(node.body, name)
            case ast.Try():
                found = self.ends([*node.body, *node.orelse], name)
                for handler in node.handlers:
                    found |= self.ends(handler.body, name)
                return found
            case ast.For() | ast.While():
                return self.ends(node.body, name) | _End.FALLS
        return _End.FALLS

    def _test(self, test: ast.expr, name: str) -> bool | None:
        """Does a condition hold for a name? None where that is not seen."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                found = self._test(inner, name)
                return None if found is None else not found
            case ast.BoolOp(op=op, values=values):
                each = [self._test(value, name) for value in values]
                decisive = isinstance(op, ast.Or)
                if decisive in each:
                    return decisive
                return None if None in each else not decisive
            case ast.Compare(left=ast.Name(id=left), ops=[op], comparators=[right]) if left == self._parameter:
                known = _literals(right, self._tables)
                if known is None:
                    return None
                match op:
                    case ast.Eq():
                        return isinstance(right, ast.Constant) and name in known
                    case ast.NotEq():
                        return not (isinstance(right, ast.Constant) and name in known)
                    case ast.In():
                        return name in known
                    case ast.NotIn():
                        return name not in known
        return None
