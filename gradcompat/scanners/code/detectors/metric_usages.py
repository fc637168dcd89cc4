"""Metrics of ignite that are computed more often than they are reset."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

SYMBOL = "ignite.metrics.Metric.between_resets"
_USAGE = lazy_pattern(r"ignite\.metrics\.(?:metric\.)?MetricUsage")
_EVENT = lazy_pattern(r"ignite\.engine\.(?:events\.)?Events\.(\w+)")
# What gathers all predictions anew instead of putting exchanged sums into their place.
_COMPLETED = lazy_pattern(
    r"ignite\.metrics\.(?:\w+\.)*(?!EpochMetric|ROC_AUC|RocCurve|AveragePrecision|PrecisionRecallCurve|CohenKappa)"
    r"[A-Z]\w*\.completed"
)
_FREQUENCIES = {
    **dict.fromkeys(("STARTED", "COMPLETED"), 0),
    **dict.fromkeys(("EPOCH_STARTED", "EPOCH_COMPLETED"), 2),
    **dict.fromkeys(("ITERATION_STARTED", "ITERATION_COMPLETED"), 4),
}
_DEEPEST = 4  # of names for an event, and of events that are joined


def is_computed_between_resets(call: ast.Call, called: tuple[str, ...], names: Names, scope: Scope) -> bool:
    """``MetricUsage(Events.EPOCH_STARTED, Events.ITERATION_COMPLETED(every=50), Events.ITERATION_COMPLETED)``, or
    handlers of a metric's ``started`` and ``completed`` for such events.
    """
    if any(map(_USAGE.fullmatch, called or _own_bases(call, names, scope))):
        return _is_rarer(argument_of(call, "started", 0), argument_of(call, "completed", 1), names, scope)
    match call:
        case ast.Call(
            func=ast.Attribute(attr="add_event_handler"),
            args=[completed, ast.Attribute(attr="completed", value=metric) as handler, *_],
        ) if any(map(_COMPLETED.fullmatch, names.resolve(handler, scope))):
            started = _resets(metric, names, scope)
            return bool(started) and all(_is_rarer(one, completed, names, scope) for one in started)
    return False


def _own_bases(call: ast.Call, names: Names, scope: Scope) -> tuple[str, ...]:
    """What the constructor of a class asks with ``super().__init__(…)``."""
    match call.func:
        case ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super"))):
            within: Scope | None = scope
            while within is not None and not isinstance(within.node, ast.ClassDef):
                within = within.parent
            if within is not None and isinstance(within.node, ast.ClassDef):
                return tuple(name for base in within.node.bases for name in names.resolve(base, within))
    return ()


def _resets(metric: ast.expr, names: Names, scope: Scope) -> list[ast.expr]:
    """The events at which the same function resets a metric."""
    events = []
    for call in names.nodes(ast.Call):
        match call:
            case ast.Call(
                func=ast.Attribute(attr="add_event_handler"),
                args=[event, ast.Attribute(attr="started" | "reset", value=same), *_],
            ) if ast.dump(same) == ast.dump(metric) and names.scope_of(call) is scope:
                events.append(event)
    return events


def _is_rarer(first: ast.expr | None, second: ast.expr | None, names: Names, scope: Scope) -> bool:
    rare, frequent = _frequency(first, names, scope), _frequency(second, names, scope)
    return rare is not None and frequent is not None and rare < frequent


def _frequency(event: ast.expr | None, names: Names, scope: Scope, depth: int = 0) -> int | None:
    """A rank: an event that is filtered is rarer than the same one without, and more frequent than any above it."""
    if event is None or depth > _DEEPEST:
        return None
    match event:
        case ast.Call(func=unfiltered):
            frequency = _frequency(unfiltered, names, scope, depth + 1)
            return None if frequency is None else frequency - 1
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            joined = [_frequency(one, names, scope, depth + 1) for one in (left, right)]
            return max((one for one in joined if one is not None), default=None)
        case ast.Name(id=name) if (bound := names.bound_once(name, scope)) is not None:
            return _frequency(bound[0], names, bound[1], depth + 1)
    for name in names.resolve(event, scope):
        said = _EVENT.fullmatch(name)
        if said is not None:
            return _FREQUENCIES.get(said[1])
    return None
