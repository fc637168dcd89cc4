"""Passes without gradients in Lightning's modules, of weights that the graded pass behind them uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

_UNGRADED = frozenset({"no_grad", "set_grad_enabled"})
_EVALUATES = re.compile(r"(?:on_)?(?:validation|test|predict|eval|generate|sample|infer)")
# What a module has beside its layers.
_NO_LAYERS = re.compile(
    r"log\w*|print|device|dtype|hparams|trainer|current_epoch|global_step|training|\w*(?:metric|acc)\w*"
)


def ungraded_pass(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """The first place where gradients are switched off, outside of what only evaluates, and may do harm."""
    waiting: list[tuple[ast.AST, ast.FunctionDef | None, frozenset[str]]] = [
        (statement, None, frozenset()) for statement in statements
    ]
    for node, function, methods in waiting:
        if isinstance(node, ast.FunctionDef) and _EVALUATES.match(node.name):
            continue
        if isinstance(node, (ast.Attribute, ast.Name)) and getattr(node, "attr", getattr(node, "id", "")) in _UNGRADED:
            return node
        within, around, inner = function, methods, list(ast.iter_child_nodes(node))
        if isinstance(node, ast.ClassDef):
            around = frozenset(one.name for one in node.body if isinstance(one, ast.FunctionDef))
        elif isinstance(node, ast.FunctionDef):
            within = node
        elif isinstance(node, ast.With) and function is not None and _is_harmless(node, function, methods):
            inner = list(node.body)
        waiting += [(child, within, around) for child in inner]
    return None


def _is_harmless(block: ast.With, function: ast.FunctionDef, methods: frozenset[str]) -> bool:
    """Does a block run only layers that no graded pass behind it uses, or none at all?"""
    inside = frozenset(name for statement in block.body for name in _layers(statement))
    if not inside:
        return True
    owned = {id(one.value) for one in ast.walk(function) if isinstance(one, ast.Attribute)}
    behind = frozenset(
        name
        for node in ast.walk(function)
        if isinstance(node, (ast.Attribute, ast.Name)) and node.lineno > (block.end_lineno or block.lineno)
        if id(node) not in owned
        for name in _layers(node)
    )
    unclear = methods | {""}  # whatever these run
    return unclear.isdisjoint(inside | behind) and inside.isdisjoint(behind)


def _layers(node: ast.AST) -> Iterator[str]:
    """The attributes of ``self`` that are mentioned and may be layers; empty for the module as a whole."""
    owners = {id(one.value) for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if not _NO_LAYERS.fullmatch(name):
                yield name
            case ast.Name(id="self") if id(inner) not in owners:
                yield ""
