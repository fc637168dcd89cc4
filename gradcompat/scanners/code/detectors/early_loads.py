"""States and adapters that are loaded early enough: Fabric's in front of setup, Unsloth's first one for nothing."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.detectors.early_models import FUNCTIONS, position
from gradcompat.scanners.code.syntax import calls_in
from gradcompat.startup.lazy_patterns import lazy_pattern

IN_FRONT = "Fabric.load.in_front"
RESTORING = lazy_pattern(r"\.setup(?:_optimizers)?\(")
FORGOTTEN = "load_lora.forgotten"
ADAPTING = lazy_pattern(r"\.load_lora\(")


def load_in_front(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """``fabric.load(path, state)`` where every call of it stands in front of ``fabric.setup``, in one function."""
    loaded: list[tuple[ast.Call, ast.AST | None]] = []
    wrapped: list[tuple[ast.Call, ast.AST | None]] = []
    for call, function in calls_in(statements, FUNCTIONS):
        match call:
            case ast.Call(func=ast.Attribute(attr="load")) if len(call.args) + len(call.keywords) > 1:
                loaded.append((call, function))
            case ast.Call(func=ast.Attribute(attr="setup" | "setup_optimizers")):
                wrapped.append((call, function))
    if not loaded or not wrapped or len({function for _, function in (*loaded, *wrapped)}) > 1:
        return None
    early = max(position(call) for call, _ in loaded) < min(position(call) for call, _ in wrapped)
    return loaded[0][0] if early else None


def forgotten_adapter(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """The first ``load_lora`` where nobody takes what it returns, and another one is used behind it."""
    loaded = [
        call
        for call, _ in calls_in(statements, FUNCTIONS)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "load_lora"
    ]
    dropped = {node.value for one in statements for node in ast.walk(one) if isinstance(node, ast.Expr)}
    return loaded[0] if len(loaded) > 1 and loaded[0] in dropped else None
