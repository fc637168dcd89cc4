"""Generations that come behind a block in which the adapters of PEFT are off."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradcompat.scanners.code.syntax import last_name, nodes_in

_OFF, _GENERATE = "disable_adapter", "generate"
NONE_BEHIND = "disable_adapter.ends_generation"
"""The use of a block that no generation follows, for records."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def ends_generation(statements: Iterable[ast.stmt]) -> ast.AST | None:
    """The last of the blocks, where each runs once and no generation stands behind it.

    What a function does may be done again, and what a loop does is.
    """
    body = list(statements)
    nodes = nodes_in(*body)
    blocks = [node for node in nodes if isinstance(node, (ast.With, ast.AsyncWith)) and _is_off(node)]
    if not blocks:
        return None
    repeated = {id(inner) for node in nodes if isinstance(node, (*_LOOPS, *_FUNCTIONS)) for inner in nodes_in(node)}
    first = min(block.end_lineno or block.lineno for block in blocks)
    generations = [node for node in nodes if isinstance(node, ast.Call) and last_name(node.func) == _GENERATE]
    if any(id(node) in repeated for node in (*blocks, *generations)):
        return None
    return None if any(node.lineno > first for node in generations) else blocks[-1]


def _is_off(block: ast.With | ast.AsyncWith) -> bool:
    return any(
        isinstance(one.context_expr, ast.Call) and last_name(one.context_expr.func) == _OFF for one in block.items
    )
