"""Losses of Liger that a program calls for training steps alone, and never where gradients may be off.

A loss that the model itself calls, or a helper of both loops, may be called anywhere.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.detectors.ungraded_calls import is_ungraded
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import children, last_name
from gradcompat.startup.lazy_patterns import lazy_pattern

FUSED = lazy_pattern(r"\bLigerFusedLinearCrossEntropy(?:Loss|Function)\b|\bliger_fused_linear_cross_entropy\b")
_CLASS = "LigerFusedLinearCrossEntropyLoss"
_FUNCTIONS = frozenset({"liger_fused_linear_cross_entropy", "LigerFusedLinearCrossEntropyFunction"})
_TRAINS = "training_step"


def only_trains(names: Names) -> bool:
    """Is such a loss called, and each time by the function that goes backward, or by Lightning's ``training_step``?"""
    objects = {
        ast.unparse(target)
        for node in names.nodes(ast.Assign)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) == _CLASS
        for target in node.targets
    }
    called = False
    for function, nodes in _functions(names.module.node):
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        losses = [call for call in calls if _is_loss(call, objects)]
        if not losses:
            continue
        goes_back = any(last_name(call.func) == "backward" for call in calls) or function == _TRAINS
        if not goes_back or any(is_ungraded(call, names) for call in losses):
            return False
        called = True
    return called


def _is_loss(call: ast.Call, objects: set[str]) -> bool:
    written = ast.unparse(call.func)
    return written in objects or written.removesuffix(".apply").rpartition(".")[2] in _FUNCTIONS


def _functions(tree: ast.AST) -> list[tuple[str, list[ast.AST]]]:
    """What stands in the module and in each of its functions itself."""
    found: list[tuple[str, list[ast.AST]]] = []
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        name, owner = waiting.pop()
        inside: list[ast.AST] = []
        found.append((name, inside))
        nodes = children(owner)
        while nodes:
            node = nodes.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                waiting.append((node.name, node))
            else:
                inside.append(node)
                nodes += children(node)
    return found
