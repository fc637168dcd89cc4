"""Losses of single tokens that are only averaged or added up, so that each token has the same weight."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import last_name

LOSS = "parallel_cross_entropy"
_REDUCED = frozenset({"mean", "sum"})


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
