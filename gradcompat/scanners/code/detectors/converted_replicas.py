"""Models that get another dtype or device behind DistributedDataParallel, which averages their gradients no more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from gradcompat.scanners.code.syntax import last_name, nodes_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_patterns import lazy_pattern

# What wraps a model, as a program spells it.
WRAPPING = lazy_pattern(r"(?:DistributedDataParallel|DDP)\(")
CONVERTED = "torch.nn.parallel.DistributedDataParallel.converted"
"""The use of such a model, for records."""
_WRAPPERS = lazy_pattern(r"(?:\w+\.)*(?:DistributedDataParallel|DDP)")
_DTYPES = lazy_pattern(r"(?:\w+\.)*(?:float16|half|bfloat16|float64|double)")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRAINING = lazy_pattern(r"(?<!pre)train(?!ed|able)|fit|learn|backward")


def converted_replica(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first call that gives a wrapped model another dtype, or sends it to the CPU from where it comes back.

    A variable is followed in its own function, where training goes on behind the call; an attribute of ``self`` is
    known to all methods of its class, of which others train it.
    """
    everything = nodes_in(*statements)
    if not any(map(_wraps, everything)):
        return None
    outside = nodes_in(*(one for one in statements if not isinstance(one, (*_FUNCTIONS, ast.ClassDef))))
    found = list(_converted(outside, _wrapped(outside), trained=False))
    for node in everything:
        if isinstance(node, _FUNCTIONS):
            inside = nodes_in(*node.body)
            local = {name: line for name, line in _wrapped(inside).items() if not name.startswith("self.")}
            found += _converted(inside, local, trained=False)
        elif isinstance(node, ast.ClassDef):
            elsewhere = dict.fromkeys(name for name in _wrapped(nodes_in(*node.body)) if name.startswith("self."))
            for method in (nodes_in(*one.body) for one in node.body if isinstance(one, _FUNCTIONS)):
                here = {name: line for name, line in _wrapped(method).items() if name in elsewhere}
                found += _converted(method, {**elsewhere, **here}, trained=True)
    return min(found, key=lambda call: call.lineno, default=None)


def _wrapped(nodes: Sequence[ast.AST]) -> dict[str, int]:
    """The names of a wrapped model, each with the line from which it has one: also of the module that is in it."""
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    found: dict[str, int] = {}
    for node in assigned:
        if _wraps(node.value):
            found |= {text(target): node.lineno for target in node.targets}
            found |= {
                text(one): node.lineno for one in node.value.args[:1] if isinstance(one, (ast.Name, ast.Attribute))
            }
    inner = {f"{name}.module" for name in found}
    return found | {text(node.targets[0]): node.lineno for node in assigned if text(node.value) in inner}


def _wraps(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and _WRAPPERS.fullmatch(text(node.func)) is not None


def _converted(nodes: Sequence[ast.AST], wrapped: Mapping[str, int | None], *, trained: bool) -> Iterator[ast.Call]:
    """The calls that convert one of the wrapped models, where the model is trained elsewhere or behind them.

    Without a line, a model is wrapped elsewhere, and only what goes to the CPU and comes back is known to be trained.
    """
    calls = sorted((node for node in nodes if isinstance(node, ast.Call)), key=lambda call: call.lineno)
    training = [call.lineno for call in calls if _TRAINING.search(last_name(call.func))]
    loops = [(node.lineno, node.end_lineno or 0) for node in nodes if isinstance(node, (ast.For, ast.While))]

    def goes_on(call: ast.Call) -> bool:
        begins = min((first for first, last in loops if first <= call.lineno <= last), default=call.lineno + 1)
        return trained or any(line >= begins for line in training)

    left: dict[str, ast.Call] = {}
    for call in calls:
        if not isinstance(call.func, ast.Attribute):
            continue
        model = text(call.func.value).removesuffix(".module")
        chained = _wraps(call.func.value)
        since = call.lineno - 1 if chained else wrapped.get(model, call.lineno)
        if since is not None and (call.lineno <= since or _renewed(nodes, model, since, call.lineno)):
            continue
        match call.func.attr, [ast.unparse(one) for one in (*call.args, *(word.value for word in call.keywords))]:
            case ("half" | "bfloat16" | "double", _) if since is not None and goes_on(call):
                yield call
            case ("to", given) if since is not None and any(map(_DTYPES.fullmatch, given)) and goes_on(call):
                yield call
            case ("cpu", _) | ("to", ["'cpu'"] | ["torch.device('cpu')"]) if not chained:
                left.setdefault(model, call)
            case ("cuda", _) | ("to", _) if model in left and goes_on(call):
                yield left[model]


def _renewed(nodes: Sequence[ast.AST], model: str, since: int, until: int) -> bool:
    """Is the variable given another model between these lines, as in the other branch of a condition?"""
    given = (node for node in nodes if isinstance(node, ast.Assign) and since < node.lineno < until)
    return any(
        model in map(text, node.targets) and not re.search(rf"\b{re.escape(model)}\b", ast.unparse(node.value))
        for node in given
    )
