"""What a MetricCollection of torchmetrics holds, whose metrics share their states, and when its values are computed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of, nodes_in

COLLECTION = "MetricCollection"
# What gives the same collection again, or another one with the same metrics.
_SAME = frozenset({"to", "cuda", "cpu", "clone"})
_COMPOUND = (ast.If, ast.With, ast.Try, ast.For, ast.While)
# Their one state has the same name, and behind one value it is the same number.
_EXTREMES = frozenset({"MinMetric", "MaxMetric", "SumMetric"})
_DETECTION = "MeanAveragePrecision"


def ways_of_computing(call: ast.Call, names: Names) -> Iterator[str]:
    """How a collection that is made here is used, in the file where it is made.

    ``computed_on_the_way`` is updated and computed in turn, with nothing that resets it in the loop or in the step of
    Lightning; ``computed_twice`` is computed again with nothing in between.
    """
    groups = argument_of(call, "compute_groups")
    if isinstance(groups, ast.Constant) and groups.value is False:
        return
    match argument_of(call, "metrics", 0):
        case ast.List(elts=[_]) | ast.Tuple(elts=[_]) | ast.Dict(keys=[ast.expr()]):
            return  # a single metric shares its state with none
    held = _held(call, names)
    loops: list[ast.For | ast.While] = [*names.nodes(ast.For), *names.nodes(ast.While)]
    functions = names.nodes(ast.FunctionDef)
    rounds = (*loops, *(one for one in functions if one.name.endswith("_step")))
    if any(_goes_on(one, name) for one in rounds for name in held):
        yield "computed_on_the_way"
    owners: list[ast.Module | ast.FunctionDef | ast.For | ast.While | ast.If | ast.With] = [
        *names.nodes(ast.Module),
        *functions,
        *loops,
        *names.nodes(ast.If),
        *names.nodes(ast.With),
    ]
    if any(_repeats(one.body, name) for one in owners for name in held):
        yield "computed_twice"


def ways_of_holding(call: ast.Call, names: Names, scope: Scope) -> Iterator[str]:
    """Which metrics stand side by side in a collection that is made here.

    ``extremes`` holds two of the least, the greatest and the sum of its values, and is updated without being called;
    ``same_results`` holds two whose results have the same names.
    """
    given = argument_of(call, "metrics", 0)
    if not isinstance(given, ast.Dict):
        return
    types = [kind for value in given.values for kind in names.type_of(value, scope)[:1]]
    kinds = [kind.rpartition(".")[2] for kind in types if kind.startswith("torchmetrics.")]
    if kinds.count(_DETECTION) > 1:
        yield "same_results"
    groups = argument_of(call, "compute_groups")
    if len(_EXTREMES & set(kinds)) > 1 and not (isinstance(groups, ast.Constant) and groups.value is False):
        held = _held(call, names)
        calls = names.nodes(ast.Call)
        if any(_method(one, name) == "update" for one in calls for name in held):
            yield "extremes"


def _held(call: ast.Call, names: Names) -> set[str]:
    """The names that hold the collection, and its clones."""
    held: set[str] = set()
    assignments = names.nodes(ast.Assign)
    while True:
        found = {
            ast.unparse(target)
            for node in assignments
            if (value := _plain(node.value)) is call or _chain(value) in held
            for target in node.targets
            if isinstance(target, (ast.Name, ast.Attribute))
        }
        if found <= held:
            return held
        held |= found


def _plain(node: ast.expr) -> ast.expr:
    """``MetricCollection(metrics)`` of ``MetricCollection(metrics).to(device)``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        node = node.func.value
    return node


def _goes_on(node: ast.AST, name: str) -> bool:
    """Is the collection updated and computed in a loop that neither makes nor resets it?"""
    inner = nodes_in(node)
    if not {"update", "compute"} <= {_method(one, name) for one in inner}:
        return False
    made = any(isinstance(one, ast.Assign) and name in map(_chain, one.targets) for one in inner)
    return not made and not any(isinstance(one, ast.Attribute) and one.attr == "reset" for one in inner)


def _repeats(body: Sequence[ast.stmt], name: str) -> bool:
    """Is the collection computed twice in a block, with neither a new state nor another way to get there?"""
    before = False
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        inner = nodes_in(statement)
        called = [method for one in inner if (method := _method(one, name)) is not None]
        computed = called.count("compute")
        changed = len(called) > computed or any(isinstance(one, ast.Call) and _chain(one.func) == name for one in inner)
        whole = not isinstance(statement, _COMPOUND)
        if not changed and whole and computed + before > 1:
            return True
        before = not changed and (before or (whole and computed > 0))
    return False


def _method(node: ast.AST, name: str) -> str | None:
    """``compute`` of ``metrics.compute()``."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if _chain(owner) == name:
            return method
    return None


def _chain(node: ast.expr) -> str | None:
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
