"""Checkpoints and adapters that a program loads when it has trained, to try the model out."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import is_on_lines_of

_STEPS = frozenset({"backward", "train_batch"})
_RUNS = frozenset({"train", "fit"})  # of a trainer; ``model.train()`` sets a mode


def is_loaded_late(call: ast.Call, names: Names) -> bool:
    """Does all that trains in the function of a call come before it, and no loop lead back?"""
    functions = _functions(names)
    calls = names.nodes(ast.Call)
    within = _innermost(call, functions)
    training = {one.name for one in functions if any(_steps(inner) for inner in calls if is_on_lines_of(inner, one))}
    here = [
        one
        for one in calls
        if _innermost(one, functions) is within
        and (_steps(one) or (isinstance(one.func, ast.Name) and one.func.id in training))
    ]
    every: list[ast.stmt] = [*names.nodes(ast.For), *names.nodes(ast.AsyncFor), *names.nodes(ast.While)]
    loops = [loop for loop in every if is_on_lines_of(call, loop)]
    return bool(here) and all(
        one.lineno < call.lineno and not any(is_on_lines_of(one, loop) for loop in loops) for one in here
    )


def _functions(names: Names) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [*names.nodes(ast.FunctionDef), *names.nodes(ast.AsyncFunctionDef)]


def _steps(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    of_trainer = call.func.attr in _RUNS and "trainer" in ast.unparse(call.func.value).lower()
    return of_trainer or call.func.attr in _STEPS


def _innermost(node: ast.AST, functions: list[ast.FunctionDef | ast.AsyncFunctionDef]) -> ast.AST | None:
    around = [one for one in functions if is_on_lines_of(node, one)]
    return max(around, key=lambda one: one.lineno, default=None)
