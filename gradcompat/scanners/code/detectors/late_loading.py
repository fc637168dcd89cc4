"""Checkpoints that a loop of one's own loads when it has trained, to try the model out."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names

_STEPS = frozenset({"backward", "train_batch"})


def is_loaded_late(call: ast.Call, names: Names) -> bool:
    """Does all that trains in the function of a call come before it, and no loop lead back?"""
    functions = _functions(names)
    calls = names.nodes(ast.Call)
    within = _innermost(call, functions)
    training = {one.name for one in functions if any(_steps(inner) for inner in calls if _holds(one, inner))}
    here = [
        one
        for one in calls
        if _innermost(one, functions) is within
        and (_steps(one) or (isinstance(one.func, ast.Name) and one.func.id in training))
    ]
    every: list[ast.stmt] = [*names.nodes(ast.For), *names.nodes(ast.AsyncFor), *names.nodes(ast.While)]
    loops = [loop for loop in every if _holds(loop, call)]
    return bool(here) and all(one.lineno < call.lineno and not any(_holds(loop, one) for loop in loops) for one in here)


def _functions(names: Names) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [*names.nodes(ast.FunctionDef), *names.nodes(ast.AsyncFunctionDef)]


def _steps(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _STEPS


def _holds(outer: ast.stmt, inner: ast.AST) -> bool:
    return outer.lineno <= getattr(inner, "lineno", 0) <= (outer.end_lineno or 0)


def _innermost(node: ast.AST, functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> ast.AST | None:
    around = [one for one in functions if _holds(one, node)]
    return max(around, key=lambda one: one.lineno, default=None)
