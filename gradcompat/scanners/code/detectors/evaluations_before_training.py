"""``trainer.evaluate()`` in front of ``trainer.train()``: it sees the model as it was loaded, and may change it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.own_loops import stands_after
from gradcompat.scanners.code.syntax import LEAVING, is_on_lines_of
from gradcompat.scanners.code.walk import Step, text
from gradcompat.startup.lazy_patterns import lazy_pattern

_EXIT = lazy_pattern(r"(?:sys\.|os\.)?_?(?:exit|quit)\(")


def read_evaluation(found: Findings, step: Step, call: ast.Call, end: Step | None) -> None:
    """An evaluation that the last call that trains, or the loop around it, comes after in the same run."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "evaluate":
        return
    if end is None or end.function is not step.function or not stands_after(end.node, call):
        return
    match end.node:
        case ast.Call(func=ast.Attribute(value=owner)) if text(owner) != text(call.func.value):
            return  # another trainer, which may have another model
    function = step.function.node
    if isinstance(function, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
        if not _goes_on(function.body, call, end.node):
            return
        for name in found.names.resolve(call.func, step.scope):
            found.symbol(f"{name}.before_training", call)


def _goes_on(block: Sequence[ast.stmt], call: ast.AST, end: ast.AST) -> bool:
    """Does a run that has come to the call get to the end? Not from one branch to the other, nor behind a return."""
    if _leaves(block[-1]) and not _contains(block, end):
        return False
    statement = next((one for one in block if _contains([one], call)), None)
    inner = next((one for one in _blocks(statement) if _contains(one, call)), None) if statement else None
    if statement is None or inner is None:
        return True
    if isinstance(statement, ast.If) and _contains([statement], end) and not _contains(inner, end):
        return False
    return _goes_on(inner, call, end)


def _leaves(statement: ast.stmt) -> bool:
    return isinstance(statement, LEAVING) or (
        isinstance(statement, ast.Expr) and _EXIT.match(text(statement.value)) is not None
    )


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for _, value in ast.iter_fields(statement):
        parts = value if isinstance(value, list) else ()
        statements = [one for one in parts if isinstance(one, ast.stmt)]
        if statements:
            yield statements
        for part in parts:
            if isinstance(part, (ast.ExceptHandler, ast.match_case)):
                yield part.body


def _contains(block: Sequence[ast.stmt], node: ast.AST) -> bool:
    return any(is_on_lines_of(node, one) for one in block)
