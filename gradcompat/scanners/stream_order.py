"""In which order a program calls the methods of a stream (``datasets.IterableDataset``), where that decides.

``interleave_datasets([a.shuffle(seed=1), b])`` mixes streams that were shuffled before, and what comes behind the mix
is another thing. A name stands for what it was bound to above its use: ``stream = split_dataset_by_node(stream, …)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code_names import Names, Scope

_MIXING = frozenset({"interleave_datasets", "concatenate_datasets"})
_SPLIT = "split_dataset_by_node"
_DEEPEST = 20
_MAX_BINDINGS = 20


def manner_of_stream(call: ast.Call, called: str, names: Names, scope: Scope) -> str | None:
    """The word behind the name of a function or method of `datasets` that is called late: on what was done before.

    Args:
        call: the call.
        called: what is called, by its full name, or the bare name of the method.
    """
    last = called.rpartition(".")[2]
    if last in _MIXING:
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg in ("datasets", "dsets"))]
        if any("shuffle" in _steps(one, names, scope) for one in given):
            return "of_shuffled"
    elif last == "skip" and isinstance(call.func, ast.Attribute) and _SPLIT in _steps(call.func.value, names, scope):
        return "of_split"
    return None


def _steps(node: ast.AST, names: Names, scope: Scope) -> set[str]:
    """The names of the functions and methods that an object went through."""
    found: set[str] = set()
    met = {node}
    waiting = [(node, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            continue
        for inner in _behind(one, names, scope, found):
            if inner not in met:
                met.add(inner)
                waiting.append((inner, depth + 1))
    return found


def _behind(node: ast.AST, names: Names, scope: Scope, found: set[str]) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=args):
            found.add(method)
            yield owner
            if method == _SPLIT:
                yield from args[:1]
        case ast.Call(func=ast.Name(id=name), args=args):
            found.add(name)
            yield from args[:1]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            yield from elements
        case ast.ListComp(elt=element):
            yield element
        case ast.Name(id=name):
            bound = names.bindings(name, scope)
            if bound is not None:
                above = [one for one in bound[0][:_MAX_BINDINGS] if isinstance(one, ast.AST)]
                yield from (one for one in above if getattr(one, "lineno", 0) < node.lineno)
