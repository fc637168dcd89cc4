"""Parameters of Flax that are taken for frozen ones: ``unfreeze()`` of what ``init`` returns, and its ``pop``.

``state, params = variables.pop("params")`` is right for a FrozenDict alone: that of a dict gives the parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.object_history import called_name, calls_behind
from gradcompat.startup.lazy_patterns import lazy_pattern

TAKEN = lazy_pattern(r"\.(?:unfreeze|pop)\(")
OF_INIT = "unfreeze.of_init"
# The collections of variables that a module has.
_COLLECTIONS = frozenset({"params", "batch_stats", "cache", "intermediates", "state"})
_FREEZING = frozenset({"freeze", "FrozenDict"})


def first_taken(names: Names) -> ast.Call | None:
    """The first such call of a module, where nothing has frozen in between what ``init`` returns."""
    return next((call for call in _takes(names) if _is_of_init(call, names)), None)


def _takes(names: Names) -> Iterator[ast.Call]:
    for node in names.nodes(ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="unfreeze"), args=[], keywords=[]):
                yield node
    for assigned in names.nodes(ast.Assign):
        match assigned:
            case ast.Assign(
                targets=[ast.Tuple(elts=[_, _])],
                value=ast.Call(func=ast.Attribute(attr="pop"), args=[ast.Constant(value=str(key))]) as call,
            ) if key in _COLLECTIONS:
                yield call


def _is_of_init(call: ast.Call, names: Names) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    behind = {called_name(one) for one in calls_behind(owner, names, names.scope_of(call))}
    return "init" in behind and behind.isdisjoint(_FREEZING)
