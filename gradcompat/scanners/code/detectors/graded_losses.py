"""Losses of Liger that a program calls for training steps alone, and never where gradients may be off, and those of
each token that it calls only there.

A loss that the model itself calls, or a helper of both loops, may be called anywhere.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.detectors.ungraded_calls import is_ungraded
from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.regions import around
from gradcompat.scanners.code.syntax import children, last_name
from gradcompat.startup.lazy_patterns import lazy_pattern

FUSED = lazy_pattern(r"\bLigerFusedLinearCrossEntropy(?:Loss|Function)\b|\bliger_fused_linear_cross_entropy\b")
_CLASS = "LigerFusedLinearCrossEntropyLoss"
_FUNCTIONS = frozenset({"liger_fused_linear_cross_entropy", "LigerFusedLinearCrossEntropyFunction"})
_TRAINS = "training_step"
_JUDGE = frozenset({"validation_step", "test_step", "predict_step"})  # Lightning's, without gradients
_REDUCTION = 4  # where the class has it


def only_trains(names: Names) -> bool:
    """Is such a loss called, and each time where gradients are needed?

    That is the function that goes backward, Lightning's ``training_step``, or what a model does ``if self.training``.
    """
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
        in_training = [
            around(node.body) for node in nodes if isinstance(node, ast.If) and _asks_for_training(node.test)
        ]
        goes_back = goes_back or all(any(region.holds(call) for region in in_training) for call in losses)
        if not goes_back or any(is_ungraded(call, names) for call in losses):
            return False
        called = True
    return called


def unreduced_judges(names: Names) -> bool | None:
    """Is each loss of each token called only where gradients are off? None where there is none."""
    functions = _functions(names.module.node)
    within = {id(node): function for function, nodes in functions for node in nodes}
    whole = [node for _, nodes in functions for node in nodes]
    made = None
    for function, nodes in functions:
        targets = {
            id(node.value): [ast.unparse(target) for target in node.targets]
            for node in nodes
            if isinstance(node, ast.Assign)
        }
        for call in (node for node in nodes if isinstance(node, ast.Call) and _is_unreduced(node, names)):
            made = True
            if _is_without_gradients(call, function, names):
                continue
            kept = targets.get(id(call), [])
            # A variable of a function is called in it, that of the module or of an object anywhere.
            around = nodes if function and all(map(str.isidentifier, kept)) else whole
            uses = [one for one in around if isinstance(one, ast.Call) and ast.unparse(one.func) in kept]
            if not uses or not all(_is_without_gradients(one, within.get(id(one), ""), names) for one in uses):
                return False
    return made


def _is_unreduced(call: ast.Call, names: Names) -> bool:
    given = next((word.value for word in call.keywords if word.arg == "reduction"), None)
    if given is None and last_name(call.func) == _CLASS and len(call.args) > _REDUCTION:
        given = call.args[_REDUCTION]
    known = last_name(call.func) == _CLASS or last_name(call.func) in _FUNCTIONS
    return known and given is not None and names.literal(given, names.scope_of(call)) == "none"


def _is_without_gradients(call: ast.Call, function: str, names: Names) -> bool:
    return function in _JUDGE or is_ungraded(call, names)


def _asks_for_training(test: ast.expr) -> bool:
    """``self.training and labels is not None``."""
    match test:
        case ast.Attribute(attr="training"):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_asks_for_training, values))
    return False


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
