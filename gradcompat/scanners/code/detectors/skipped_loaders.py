"""Loaders of the rest of an epoch, which accelerate's skip_first_batches returns, and the epoch that they are told."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.syntax import last_name

TOLD_EPOCH = "accelerate.skip_first_batches.with_epoch"


def tells_epoch(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``rest.set_epoch(epoch)``, where ``rest = skip_first_batches(loader, step)``, also where it is so in one case."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "set_epoch":
        return False
    loader = call.func.value
    bound = names.bound_once(loader.id, scope) if isinstance(loader, ast.Name) else None
    ways = (bound[0].body, bound[0].orelse) if bound is not None and isinstance(bound[0], ast.IfExp) else (loader,)
    made = (one for way in ways for one in calls_behind(way, names, scope))
    return any(last_name(one.func) == "skip_first_batches" for one in made)
