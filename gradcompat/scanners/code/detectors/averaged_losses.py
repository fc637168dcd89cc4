"""Losses of single tokens that are only averaged or added up, so that each token has the same weight.

And means of a loss that the program itself relates to the labels that count.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of, last_name

LOSS = "parallel_cross_entropy"
_REDUCED = frozenset({"mean", "sum"})
_COUNTED = frozenset({"mean", "sum", "count_nonzero"})


def is_averaged(call: ast.Call, names: Names) -> bool:
    """``loss(x, y).mean()``, ``torch.mean(loss(x, y))``, or a name that is used in no other way."""
    reduced = {id(one) for one in map(_reduced, names.nodes(ast.Call)) if one is not None}
    held = [
        target.id
        for node in names.nodes(ast.Assign)
        if node.value is call
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    if not held:
        return id(call) in reduced
    uses = [node for node in names.nodes(ast.Name) if node.id in held and isinstance(node.ctx, ast.Load)]
    # `loss = loss.mean()` has a name stand for both.
    again = any(node.value is not call and _binds(node, held) for node in names.nodes(ast.Assign))
    uses.sort(key=lambda node: (node.lineno, node.col_offset))
    averaged = [id(node) in reduced for node in uses]
    return bool(averaged) and (averaged[0] if again else all(averaged))


def is_counted(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``loss(x, y) * y.numel() / (y != -100).sum()``, and ``loss(x[keep], y[keep])`` with ``keep = y != -100``."""
    target = argument_of(call, "target", 1)
    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        target = target.func.value  # `y[keep].unsqueeze(0)`
    if isinstance(target, ast.Name):
        bound = names.bound_once(target.id, scope)
        target = None if bound is None else bound[0]
    if isinstance(target, ast.Subscript) and _is_mask(target.slice, names, scope):
        return True
    held = {
        target.id
        for node in names.nodes(ast.Assign)
        if node.value is call
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in names.nodes(ast.BinOp):
        inside = list(ast.walk(node))
        of_loss = call in inside or any(isinstance(one, ast.Name) and one.id in held for one in inside)
        if of_loss and isinstance(node.op, (ast.Mult, ast.Div)) and any(_is_count(one, names, scope) for one in inside):
            return True
    return False


def _is_count(node: ast.AST, names: Names, scope: Scope) -> bool:
    """``(labels != -100).sum()``, ``mask.float().mean()``, also by a name; what is handed over is no count of it."""
    if isinstance(node, ast.Name):
        bound = names.bound_once(node.id, scope)
        return bound is not None and isinstance(bound[0], ast.Call) and _is_count(bound[0], names, bound[1])
    if not isinstance(node, ast.Call) or last_name(node.func) not in _COUNTED:
        return False
    inside = list(ast.walk(node))
    of_mask = any(isinstance(one, ast.Name) and "mask" in one.id for one in inside)
    return of_mask or any(isinstance(one, ast.Compare) for one in inside)


def _is_mask(node: ast.expr, names: Names, scope: Scope) -> bool:
    if isinstance(node, ast.Name):
        bound = names.bound_once(node.id, scope)
        return bound is not None and _is_mask(bound[0], names, bound[1])
    return any(isinstance(one, ast.Compare) and isinstance(one.ops[0], (ast.NotEq, ast.GtE)) for one in ast.walk(node))


def _reduced(call: ast.Call) -> ast.expr | None:
    """What is averaged or added up."""
    if last_name(call.func) not in _REDUCED:
        return None
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch")), args=[one, *_]):
            return one
        case ast.Call(func=ast.Attribute(value=one), args=[]):
            return one
    return None


def _binds(node: ast.Assign, held: list[str]) -> bool:
    return any(isinstance(target, ast.Name) and target.id in held for target in node.targets)
