"""What the groups of parameters that an optimizer is given say of its weight decay."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names, Scope, Source
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
    said = [dict(items_of(group)) for group in groups.elts]
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


def bound(node: ast.expr, names: Names, scope: Scope) -> tuple[ast.expr | None, list[ast.expr]]:
    """What a name is bound to, if it is once, and what is appended to it; of all else the expression itself."""
    if not isinstance(node, ast.Name):
        return node, []
    found = names.bound_once(node.id, scope)
    return (None, []) if found is None else (found[0], found[1].grown.get(node.id, []))


def written_by(parameters: ast.expr, names: Names, scope: Scope) -> Source:
    """The parameters of an optimizer where they are put together: here, or in the function that is called for them."""
    made = bound(parameters, names, scope)[0]
    returned = names.returned(made, scope) if isinstance(made, ast.Call) else None
    return Source(parameters, names, scope, None) if returned is None else returned


def groups_of(written: Source) -> list[dict[str, ast.expr]]:
    """What the groups say that are written out, by their keys; those that a loop makes are one."""
    whole, appended = bound(written.node, written.names, written.scope)
    match whole:
        case ast.List(elts=[]):
            groups = [bound(one, written.names, written.scope)[0] for one in appended]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            groups = [*elements]
        case ast.ListComp(elt=group):
            groups = [group]
        case _:
            return []
    return [said for group in groups if group is not None and (said := dict(items_of(group)))]


def items_of(group: ast.expr) -> Iterator[tuple[str, ast.expr]]:
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
