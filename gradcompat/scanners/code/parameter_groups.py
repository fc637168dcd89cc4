"""What the groups of parameters that an optimizer is given say of its weight decay."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of

_DECAY = "weight_decay"


def with_decay_of_groups(call: ast.Call, names: Names, scope: Scope) -> ast.Call:
    """The call of an optimizer as if it were told the strongest decay that one of its groups has.

    ``SGD([{"params": weights, "weight_decay": 0.1}, {"params": biases, "weight_decay": 0.0}])`` decays by 0.1. A call
    whose groups say nothing is returned as it is, and so is each of anything else.

    Args:
        call: the call.
        names: those of the program.
        scope: where the call stands.
    """
    groups = argument_of(call, "params", 0)
    if isinstance(groups, ast.Name):
        bound = names.bound_once(groups.id, scope)
        groups = None if bound is None else bound[0]
    if not isinstance(groups, (ast.List, ast.Tuple)) or not groups.elts:
        return call
    said = [dict(_items(group)) for group in groups.elts]
    if not all("params" in one for one in said):
        return call
    decays = [one[_DECAY] for one in said if _DECAY in one]
    if len(decays) < len(said):  # the others have that of the call
        own = argument_of(call, _DECAY)
        decays += [] if own is None else [own]
    strongest = max(decays, key=lambda node: _strength(node, names, scope), default=None)
    if strongest is None or (len(decays) < len(said) and not _strength(strongest, names, scope)):
        return call
    others = [word for word in call.keywords if word.arg != _DECAY]
    return ast.Call(call.func, call.args, [*others, ast.keyword(_DECAY, strongest)])


def _items(group: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What a group of parameters says that is written out, ``{"params": …}`` or ``dict(params=…)``."""
    match group:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value
        case ast.Call(func=ast.Name(id="dict"), keywords=words):
            yield from ((word.arg, word.value) for word in words if word.arg is not None)


def _strength(decay: ast.expr, names: Names, scope: Scope) -> float:
    """How strong a decay is; one that cannot be read is stronger than none and weaker than any that can."""
    value = names.literal(decay, scope)
    return float(value) if isinstance(value, (int, float)) else 0.0 if value is None else 1e-12
