"""What a program makes of PyG's DMoNPooling: which of its losses it takes, and whether it hands it a mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names

POOLING = "DMoNPooling"
# Where the losses stand in what the layer returns, behind the assignment, the pooled nodes and their edges.
_SPECTRAL, _CLUSTER, _ALL = 3, 5, 6


def ways_of_use(call: ast.Call, names: Names) -> Iterator[str]:
    """What all calls of a layer that is made here have in common, in the file where it is made.

    ``unmasked`` gets no mask, ``without_cluster_loss`` and ``without_losses`` leave those losses out that are wrong.
    """
    made = [target for node in names.nodes(ast.Assign) if node.value is call for target in node.targets]
    layers = {ast.unparse(target) for target in made if isinstance(target, (ast.Name, ast.Attribute))}
    calls = [
        node
        for node in names.nodes(ast.Call)
        if isinstance(node.func, (ast.Name, ast.Attribute)) and ast.unparse(node.func) in layers
    ]
    if not calls:
        return
    if not any(_has_mask(one) for one in calls):
        yield "unmasked"
    taken = [_taken(one, names) for one in calls]
    if not any(_CLUSTER in positions for positions in taken):
        yield "without_cluster_loss"
        if not any(_SPECTRAL in positions for positions in taken):
            yield "without_losses"


def _has_mask(call: ast.Call) -> bool:
    """``pool(x, adj, mask)``; what is unpacked may be one."""
    return (
        len(call.args) > 2
        or any(isinstance(one, ast.Starred) for one in call.args)
        or any(word.arg in ("mask", None) for word in call.keywords)
    )


def _taken(call: ast.Call, names: Names) -> frozenset[int]:
    """Which parts of what a call returns the program takes; all of them where it cannot be seen."""
    everything = frozenset(range(_ALL))
    for node in (*names.nodes(ast.Expr), *names.nodes(ast.Subscript), *names.nodes(ast.Assign)):
        match node:
            case ast.Expr(value=value) if value is call:
                return frozenset()
            case ast.Subscript(value=value, slice=index) if value is call:
                return _chosen(index)
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value) if value is call:
                read = {one.id for one in names.nodes(ast.Name) if isinstance(one.ctx, ast.Load)}
                starred = next((place for place, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
                if starred is not None:  # it has the parts that the others leave
                    more = max(0, _ALL - len(parts) + 1)
                    parts = [*parts[:starred], *[parts[starred]] * more, *parts[starred + 1 :]]
                return frozenset(place for place, part in enumerate(parts) if _is_read(part, read))
    return everything


def _chosen(index: ast.expr) -> frozenset[int]:
    """The parts that ``[1]`` and ``[:3]`` choose."""
    positions = range(_ALL)
    try:
        match index:
            case ast.Slice(lower=lower, upper=upper, step=None):
                ends = [None if end is None else ast.literal_eval(end) for end in (lower, upper)]
                return frozenset(positions[slice(*ends)])
        return frozenset({positions[ast.literal_eval(index)]})
    except (ValueError, TypeError, IndexError):
        return frozenset(positions)


def _is_read(target: ast.expr, read: set[str]) -> bool:
    if isinstance(target, ast.Starred):
        target = target.value
    return not isinstance(target, ast.Name) or target.id in read
