"""Programs that make the weights of a model float32 after they have loaded it or put adapters on it."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import names_beside

_EACH = frozenset({"parameters", "named_parameters", "modules", "named_modules"})


def makes_float(call: ast.Call, names: Names) -> bool:
    """Are the weights of what the call gets or gives made float32, as a whole or one by one, in its file?"""
    own = {one.id for one in names_beside(call, names.nodes(ast.Assign)) if isinstance(one, ast.Name)}
    each = {
        name.id
        for node in names.nodes(ast.For)
        if _goes_through(node.iter, own)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }
    return any(_casts(node, call, own | each) for node in names.nodes(ast.Call))


def _goes_through(iterable: ast.expr, own: set[str]) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _EACH
        and isinstance(node.value, ast.Name)
        and node.value.id in own
        for node in ast.walk(iterable)
    )


def _casts(node: ast.Call, call: ast.Call, own: set[str]) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    weights = node.func.value
    if isinstance(weights, ast.Attribute) and weights.attr == "data":
        weights = weights.value
    if weights is not call and not (isinstance(weights, ast.Name) and weights.id in own):
        return False
    if node.func.attr == "float":
        return True
    given = [*node.args, *(word.value for word in node.keywords if word.arg == "dtype")]
    return node.func.attr == "to" and any(
        isinstance(one, ast.Attribute) and one.attr in ("float32", "float") and _is_torch(one.value) for one in given
    )


def _is_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "torch"
