"""Arguments of a trainer that ask for no half precision, in a process whose earlier ones did."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.arguments import unpacked
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import children
from gradcompat.startup.lazy_patterns import lazy_pattern

_ARGUMENTS = lazy_pattern(r"transformers\.(?:\w+\.)*(?:Seq2Seq)?TrainingArguments|trl\.(?:\w+\.)*(?!Model)\w+Config")
_HALF = frozenset({"bf16", "fp16"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# What stands below one of these may not run in a process that runs what stands beside it.
_EITHER = (ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler)


def after_half(tree: ast.AST, names: Names) -> tuple[str, ast.Call] | None:
    """The first such call, and the full name of what it makes; it and the earlier one always run together."""
    asked: set[ast.AST] = set()
    for made, name, function in _calls(tree, names):
        call = unpacked(made, names, names.scope_of(made))
        if any(keyword.arg is None for keyword in call.keywords):
            continue
        half = [names.literal(keyword.value, names.scope_of(call)) for keyword in call.keywords if keyword.arg in _HALF]
        if any(one is True for one in half):
            asked.add(function)
        elif function in asked and all(one is False for one in half):
            return name, call
    return None


def _calls(tree: ast.AST, names: Names) -> Iterator[tuple[ast.Call, str, ast.AST]]:
    """The calls that make such arguments, in the order of the text, with the function that they stand in."""
    waiting: list[tuple[ast.AST, Scope, ast.AST]] = [(tree, names.module, tree)]
    while waiting:
        node, scope, function = waiting.pop()
        inner = names.scopes.get(node, scope)
        if isinstance(node, ast.Call):
            found = names.resolve(node.func, inner)
            if len(found) == 1 and _ARGUMENTS.fullmatch(found[0]):
                yield node, found[0], function
        if isinstance(node, _EITHER):
            continue
        within = node if isinstance(node, _FUNCTIONS) else function
        waiting.extend((child, inner, within) for child in reversed(children(node)))
