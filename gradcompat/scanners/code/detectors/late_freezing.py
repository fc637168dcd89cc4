"""Weights that are frozen behind the conversion to float8, which makes those trainable that were frozen before."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import last_name, nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

CONVERSION = "convert_to_float8_training"
_FREEZING = lazy_pattern(r"get_peft_model|freeze\w*")


def freezes_later(call: ast.Call, names: Names) -> bool:
    """Does something freeze weights behind the conversion, in the same function?"""
    functions: Sequence[ast.FunctionDef] = names.nodes(ast.FunctionDef)
    bodies: list[Sequence[ast.stmt]] = [one.body for one in functions if call in nodes_in(one)]
    whole: Sequence[ast.stmt] = getattr(names.module.node, "body", ())
    body = max(bodies, key=lambda one: one[0].lineno, default=whole)
    return any(_freezes(one) for statement in body if statement.lineno > call.lineno for one in nodes_in(statement))


def _freezes(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=False)):
            return True
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[ast.Constant(value=False)]):
            return True
        case ast.Call(func=ast.Name() | ast.Attribute() as called):
            return _FREEZING.fullmatch(last_name(called)) is not None
    return False
