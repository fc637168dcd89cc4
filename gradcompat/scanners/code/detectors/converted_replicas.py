"""Models that get another dtype or device behind DistributedDataParallel, which averages their gradients no more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.scanners.code.walk import text

# What wraps a model, as a program spells it.
WRAPPING = re.compile(r"\b(?:DistributedDataParallel|DDP)\(")
CONVERTED = "torch.nn.parallel.DistributedDataParallel.converted"
"""The use of such a model, for records."""
_WRAPPERS = re.compile(r"(?:\w+\.)*(?:DistributedDataParallel|DDP)")
_DTYPES = re.compile(r"(?:\w+\.)*(?:float16|half|bfloat16|float64|double)")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def converted_replica(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first call that gives a wrapped model another dtype, or sends it to the CPU from where it comes back.

    A variable is followed in its own function, an attribute of ``self`` in its class.
    """
    found = (call for nodes, of_class in _scopes(statements) for call in _converted(nodes, of_class))
    return min(found, key=lambda call: call.lineno, default=None)


def _scopes(statements: Sequence[ast.stmt]) -> Iterator[tuple[list[ast.AST], bool]]:
    """The nodes of the file outside of functions and classes, of each function, and of each class."""
    yield nodes_in(*(one for one in statements if not isinstance(one, (*_FUNCTIONS, ast.ClassDef)))), False
    for node in nodes_in(*statements):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield nodes_in(*node.body), isinstance(node, ast.ClassDef)


def _converted(nodes: Sequence[ast.AST], of_class: bool) -> Iterator[ast.Call]:
    wrapped = {
        text(target): node.lineno
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if _WRAPPERS.fullmatch(text(node.value.func)) and text(target).startswith("self.") == of_class
    }
    if not wrapped:
        return
    calls = sorted((node for node in nodes if isinstance(node, ast.Call)), key=lambda call: call.lineno)
    left: dict[str, ast.Call] = {}
    for call in calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        model = text(call.func.value).removesuffix(".module")
        if model not in wrapped or (call.lineno <= wrapped[model] and not of_class):
            continue
        match call.func.attr, [ast.unparse(one) for one in (*call.args, *(word.value for word in call.keywords))]:
            case ("half" | "bfloat16" | "double", _):
                yield call
            case ("to", given) if any(map(_DTYPES.fullmatch, given)):
                yield call
            case ("cpu", _) | ("to", ["'cpu'"] | ["torch.device('cpu')"]):
                left.setdefault(model, call)
            case ("cuda", _) | ("to", _) if model in left:
                yield left[model]
