"""The calls that an object went through before it is used, as far as a program shows them.

``stream = load_dataset(…)``, ``stream = stream.shuffle(…)``: a name stands for what it was bound to above its use. A
list went through what its elements went through, also those that are appended.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code_names import Names, Scope

_DEEPEST = 20
_MAX_BINDINGS = 20


def calls_behind(node: ast.AST, names: Names, scope: Scope) -> Iterator[ast.Call]:
    """The calls that made an object, the last one first; of a function's arguments the first is followed."""
    met = {node}
    waiting = [(node, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            continue
        if isinstance(one, ast.Call):
            yield one
        for inner in _sources(one, names, scope):
            if inner not in met:
                met.add(inner)
                waiting.append((inner, depth + 1))


def called_name(call: ast.Call) -> str:
    """The last part of what is called; empty where it has no name."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _sources(node: ast.AST, names: Names, scope: Scope) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Attribute(value=owner), args=args):
            yield owner
            if names.resolve(node.func, scope):  # a function of a module
                yield from args[:1]
        case ast.Call(args=args):
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
                grown = bound[1].grown.get(name, ())[:_MAX_BINDINGS]
                yield from (one for one in grown if one.lineno < node.lineno)
