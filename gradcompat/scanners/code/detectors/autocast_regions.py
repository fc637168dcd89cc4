"""Regions of autocast in which a model runs without gradients first and with them afterwards.

Up to torch 2.9 the second pass takes the half-precision copies of the weights that the first one has left, and these
have no history.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradcompat.scanners.code.detectors.ungraded_calls import SWITCHES
from gradcompat.scanners.code.syntax import last_name, nodes_in

_CACHE = "cache_enabled"
_CLEARING = "clear_autocast_cache"
# Behind it the weights that are trained are not used, and what is frozen is not kept.
_FROZEN = frozenset({"disable_adapter", "disable_adapters"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def ungraded_first(statements: Iterable[ast.stmt]) -> ast.AST | None:
    """The first pass with gradients of what has run without them in the same region."""
    for node in nodes_in(*statements):
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(_is_autocast(item) for item in node.items):
            found = _second_pass(node.body)
            if found is not None:
                return found
    return None


def _is_autocast(item: ast.withitem) -> bool:
    """A region that keeps what it casts, which all do unless they are told otherwise."""
    call = item.context_expr
    if not isinstance(call, ast.Call) or last_name(call.func) != "autocast":
        return False
    off = any(
        isinstance(word.value, ast.Constant) and word.value.value is False
        for word in call.keywords
        if word.arg in (_CACHE, "enabled")
    )
    return not off


def _second_pass(body: Sequence[ast.stmt]) -> ast.AST | None:
    ungraded: set[str] = set()
    for call, graded in _calls(body, graded=True):
        called = ast.dump(call.func)
        if last_name(call.func) == _CLEARING:
            ungraded.clear()
        elif graded and called in ungraded:
            return call
        elif not graded and isinstance(call.func, (ast.Name, ast.Attribute)) and _is_of_weights(call.func):
            ungraded.add(called)
    return None


def _is_of_weights(called: ast.Name | ast.Attribute) -> bool:
    """A model is called by its own name, ``model(x)``, ``self.net(x)``; functions of packages have no weights."""
    name = last_name(called)
    root: ast.expr = called
    while isinstance(root, ast.Attribute):
        root = root.value
    packaged = (
        isinstance(called, ast.Attribute) and isinstance(root, ast.Name) and root.id in ("torch", "F", "nn", "np")
    )
    return not packaged and ("model" in name.lower() or "net" in name.lower() or name in ("student", "policy", "actor"))


def _calls(nodes: Iterable[ast.AST], *, graded: bool) -> Iterator[tuple[ast.Call, bool]]:
    """The calls in the order of the text, and whether gradients are on there."""
    for node in nodes:
        if isinstance(node, _FUNCTIONS):
            continue
        if isinstance(node, (ast.With, ast.AsyncWith)):
            entered = {last_name(one.context_expr.func) for one in node.items if isinstance(one.context_expr, ast.Call)}
            if not entered & _FROZEN:
                yield from _calls(node.body, graded=graded and not entered & SWITCHES)
            continue
        yield from _calls(ast.iter_child_nodes(node), graded=graded)
        if isinstance(node, ast.Call):
            yield node, graded
