"""Losses of a loop of the program's own that it computes itself, and does not take out of what its model returns."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.startup.lazy_patterns import lazy_pattern

_OF_TORCH = lazy_pattern(
    r"torch\.nn\.functional\.\w*(?:loss|cross_entropy|kl_div)\w*|torch\.nn\.(?:modules\.(?:\w+\.)*)?\w*Loss"
)
# What leaves a loss a loss.
_KEEPING = frozenset({"mean", "sum", "float", "to", "item", "clone", "view", "squeeze"})
_MOST = 100  # expressions that one loss is followed through


def computed_outside(names: Names) -> ast.expr | None:
    """The first loss, where everything that `backward` is called on is a loss of torch's, as far as the file shows."""
    losses = [_loss_of(node) for node in names.nodes(ast.Call) if isinstance(node, ast.Call)]
    given = [loss for loss in losses if loss is not None]
    return given[0] if given and all(_is_outside(loss, names) for loss in given) else None


def _loss_of(call: ast.Call) -> ast.expr | None:
    """What is given to ``accelerator.backward(loss)``, or stands in front of ``loss.backward()``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
        return None
    return call.args[0] if call.args else call.func.value


def _is_outside(loss: ast.expr, names: Names) -> bool:
    waiting: list[tuple[ast.AST, Scope]] = [(loss, names.scope_of(loss))]
    met: set[ast.AST] = set()
    computed = False
    while waiting:
        node, scope = waiting.pop()
        if node in met or len(met) > _MOST:
            continue
        met.add(node)
        match node:
            case ast.Constant():
                pass
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                waiting += [(left, scope), (right, scope)]
            case ast.BinOp(left=left):  # what it is weighed by or divided by is no loss
                waiting.append((left, scope))
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _KEEPING:
                waiting.append((owner, scope))
            case ast.Call(func=function):
                made = (*names.resolve(function, scope), *names.type_of(function, scope))
                if not any(map(_OF_TORCH.fullmatch, made)):
                    return False
                computed = True
            case ast.Name(id=name):
                bound = names.bindings(name, scope)
                if bound is None or None in bound[0]:
                    return False
                waiting += [(one, bound[1]) for one in bound[0] if isinstance(one, ast.AST)]
            case _:
                return False
    return computed
