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
# Their states have the same names, and the first of them is equal: both count wrong words, and BLEU counts the same
# lengths for each order.
_WORD_ERRORS = frozenset({"WordErrorRate", "MatchErrorRate"})
_BLEU = frozenset({"BLEUScore", "SacreBLEUScore"})
_USUAL_ORDER = 4


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

    ``extremes`` holds two of the least, the greatest and the sum of its values, ``word_errors`` both rates of wrong
    words, ``bleu_orders`` BLEU up to different orders, and each is updated without being called; ``same_results`` holds
    two whose results have the same names, and is computed as a whole.
    """
    if _is_own(call, names, scope):
        return
    named, values, inner = _metrics(call, names, scope)
    kinds = [kind.rpartition(".")[2] for value in values for kind in _kind(value, names, inner)]
    held = _held(call, names)
    calls = names.nodes(ast.Call)
    if named and kinds.count(_DETECTION) > 1:
        whole = (_method(one, name) == "compute" or _chain(one.func) == name for one in calls for name in held)
        if not held or any(whole):
            yield "same_results"
    groups = argument_of(call, "compute_groups")
    shared = groups is None or names.literal(groups, scope) is True
    updated = (_method(one, name) == "update" for one in calls for name in held)
    if not shared or not any(updated):
        return
    if len(_EXTREMES & set(kinds)) > 1:
        yield "extremes"
    if set(kinds) >= _WORD_ERRORS:
        yield "word_errors"
    orders = {order for value in values for order in _bleu_order(value, names, inner)}
    if any(len({order for kind, order in orders if kind == one}) > 1 for one in _BLEU) or _is_bleu_of_each(
        call, names, scope
    ):
        yield "bleu_orders"


def _bleu_order(value: ast.expr, names: Names, scope: Scope) -> Iterator[tuple[str, int]]:
    """The class of a BLEU score, and up to which order it counts."""
    kinds = [kind.rpartition(".")[2] for kind in _kind(value, names, scope)]
    if isinstance(value, ast.Name) and (bound := names.bound_once(value.id, scope)) is not None:
        value, scope = bound
    if not isinstance(value, ast.Call) or _BLEU.isdisjoint(kinds):
        return
    order = argument_of(value, "n_gram", 0)
    known = _USUAL_ORDER if order is None else names.literal(order, scope)
    if isinstance(known, int):
        yield kinds[0], known


def _is_bleu_of_each(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is it made of ``BLEUScore(n) for n in …``?"""
    match argument_of(call, "metrics", 0):
        case (
            ast.DictComp(value=ast.Call() as made, generators=[ast.comprehension(target=ast.Name(id=each))])
            | ast.ListComp(elt=ast.Call() as made, generators=[ast.comprehension(target=ast.Name(id=each))])
        ):
            order = argument_of(made, "n_gram", 0)
            known = any(kind.rpartition(".")[2] in _BLEU for kind in _kind(made, names, scope))
            return known and isinstance(order, ast.Name) and order.id == each
    return False


def _metrics(call: ast.Call, names: Names, scope: Scope) -> tuple[bool, Sequence[ast.expr], Scope]:
    """The metrics that a collection is made of, where they are read, and whether they have names of the program's."""
    given = argument_of(call, "metrics", 0)
    if isinstance(given, ast.Name) and (bound := names.bound_once(given.id, scope)) is not None:
        given, scope = bound
    match given:
        case ast.Dict(values=values):
            return True, values, scope
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            return True, [keyword.value for keyword in keywords], scope
        case ast.List(elts=values) | ast.Tuple(elts=values):
            return False, values, scope
    return False, call.args, scope


def _kind(value: ast.expr, names: Names, scope: Scope) -> Sequence[str]:
    """The class of torchmetrics that a metric is of, unless the program makes another one of it."""
    if isinstance(value, ast.Name) and (bound := names.bound_once(value.id, scope)) is not None:
        value, scope = bound
    if _is_own(value, names, scope):
        return ()
    return [kind for kind in names.type_of(value, scope)[:1] if kind.startswith("torchmetrics.")]


def _is_own(value: ast.expr, names: Names, scope: Scope) -> bool:
    """Is it made of a class of the project?"""
    defined = names.definition(value.func, scope) if isinstance(value, ast.Call) else None
    return defined is not None and isinstance(defined[1], ast.ClassDef)


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
