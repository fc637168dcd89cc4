"""The nodes of a program in the order of its text, each with where it stands: in which function, in a branch or not.

Types are left out, which a program does nothing with: annotations, and what ``isinstance`` asks for.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import LEAVES, asks_for_main, children

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What decides whether or in which scope the nodes below it are reached.
_STRUCTURED = (ast.If, ast.IfExp, ast.BoolOp, ast.ExceptHandler, ast.match_case, ast.AnnAssign)
_LONGEST_CHAIN = 50


class Step(NamedTuple):
    """One node.

    Attributes:
        node: the node.
        scope: the names that hold there.
        function: the function that it stands in, or the module.
        branch: it may not be reached: in an `if`, a handler, behind `and`.
    """

    node: ast.AST
    scope: Scope
    function: Scope
    branch: bool


def walk(tree: ast.Module, names: Names, without: Collection[ast.AST] = ()) -> Iterator[Step]:
    """Every node but those that can never be reached (``if False:``); of ``a.b.c`` the whole only.

    Args:
        tree: the program.
        names: its names.
        without: functions that nothing calls.
    """
    waiting = [Step(tree, names.module, names.module, False)]
    while waiting:
        step = waiting.pop()
        if step.node in without:
            continue
        yield step
        node, scope, function, branch = step
        if isinstance(node, LEAVES):
            continue
        if isinstance(node, ast.Attribute):
            inner: ast.AST = node
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            if not isinstance(inner, ast.Name):
                waiting.append(Step(inner, scope, function, branch))
        elif isinstance(node, _STRUCTURED) or node in names.scopes or _asks_for_type(node):
            waiting.extend(reversed(list(_following(step, tree, names))))
        else:
            waiting.extend([Step(one, scope, function, branch) for one in reversed(children(node))])


def _following(step: Step, tree: ast.Module, names: Names) -> Iterator[Step]:
    node, scope, function, branch = step.node, step.scope, step.function, step.branch
    match node:
        case ast.If(test=test, body=body, orelse=otherwise):
            way = taken(test, scope, names)
            yield Step(test, scope, function, branch)
            for statements, never in ((body, False), (otherwise, True)):
                if way is not never:
                    yield from (Step(statement, scope, function, branch or way is None) for statement in statements)
        case ast.IfExp(test=test, body=then, orelse=instead):
            way = taken(test, scope, names)
            yield Step(test, scope, function, branch)
            for expression, never in ((then, False), (instead, True)):
                if way is not never:
                    yield Step(expression, scope, function, branch or way is None)
        case ast.BoolOp(values=[first, *others]):
            yield Step(first, scope, function, branch)
            yield from (Step(other, scope, function, True) for other in others)
        case ast.ExceptHandler() | ast.match_case():
            yield from (Step(child, scope, function, True) for child in children(node))
        case _ if node in names.scopes and node is not tree:
            own = names.scopes[node]
            within = function if isinstance(node, (*_COMPREHENSIONS, ast.ClassDef)) else own
            returned = getattr(node, "returns", None)  # a type, as those of the arguments are
            for child in children(node):
                if not isinstance(child, ast.arguments) and child is not returned:
                    yield Step(child, own, within, branch)
        case ast.AnnAssign(target=target, value=value):
            yield from (Step(child, scope, function, branch) for child in (target, value) if child is not None)
        case ast.Call(func=called, args=[tested, _]):
            yield Step(called, scope, function, branch)
            yield Step(tested, scope, function, branch)
        case _:
            yield from (Step(child, scope, function, branch) for child in children(node))


def _asks_for_type(node: ast.AST) -> bool:
    """Is it ``isinstance``, behind whose object only types stand?"""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, _], keywords=[]):
            return True
    return False


def taken(test: ast.expr, scope: Scope, names: Names) -> bool | None:
    """Which way a condition goes, if that is written there."""
    match test:
        case ast.Compare() if asks_for_main(test):
            return not names.is_imported
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript() | ast.UnaryOp(op=ast.Not()):
            value = names.literal(test, scope)
            return bool(value) if value is None or isinstance(value, (int, str)) else None
        case ast.Compare(
            left=(ast.Name() | ast.Attribute() | ast.Subscript()) as left, ops=[operator], comparators=[right]
        ):
            return _compared(names.literal(left, scope), operator, names.literal(right, scope))
        case ast.BoolOp(op=sign, values=parts):
            decisive = isinstance(sign, ast.Or)
            ways = {taken(part, scope, names) for part in parts}
            return decisive if decisive in ways else None if None in ways else not decisive
    return None


def _compared(left: object, operator: ast.cmpop, right: object) -> bool | None:
    """What comes of a comparison of a text: ``device == "cuda"`` below ``device = "mps"``, and with None."""
    if right is None and (left is None or isinstance(left, (int, str))):
        match operator:
            case ast.Is():
                return left is None
            case ast.IsNot():
                return left is not None
    if isinstance(left, str):
        match operator, right:
            case (ast.Eq(), str()):
                return left == right
            case (ast.NotEq(), str()):
                return left != right
            case (ast.In(), tuple() | list()):
                return left in right
            case (ast.NotIn(), tuple() | list()):
                return left not in right
    return None


def text(node: ast.AST) -> str:
    """A chain of names, attributes and calls about as it is written: ``model.get_input_embeddings().weight``."""
    parts: list[str] = []
    for _ in range(_LONGEST_CHAIN):
        match node:
            case ast.Attribute(value=inner, attr=name):
                parts.append(f".{name}")
                node = inner
            case ast.Call(func=inner):
                parts.append("()")
                node = inner
            case ast.Subscript(value=inner):
                parts.append("[]")
                node = inner
            case ast.Name(id=name):
                parts.append(name)
                break
            case _:
                break
    return "".join(reversed(parts))
