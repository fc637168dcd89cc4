"""Hooks in front of a backward pass that hand back another gradient, and do not only look at it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradcompat.scanners.code.syntax import last_name, nodes_in

_REGISTERING = frozenset({"register_full_backward_pre_hook", "register_module_full_backward_pre_hook"})
RETURNING = "torch.nn.Module.full_backward_pre_hook.returning"
"""The use of such a hook, for records."""


def returning_hook(statements: Iterable[ast.stmt]) -> ast.AST | None:
    """The first call that registers one; a hook that the program does not define is taken for one."""
    nodes = nodes_in(*statements)
    registered = [
        node for node in nodes if isinstance(node, ast.Call) and last_name(node.func) in _REGISTERING and node.args
    ]
    silent = {
        node.name
        for node in (nodes if registered else ())
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not _returns(node)
    }
    return next((call for call in registered if last_name(call.args[0]) not in silent), None)


def _returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Does a function hand anything back? Where others stand in it, theirs count as well."""
    returned = (node.value for node in nodes_in(*function.body) if isinstance(node, ast.Return))
    return any(
        value is not None and not (isinstance(value, ast.Constant) and value.value is None) for value in returned
    )
