"""The calls that an object went through before it is used, as far as a program shows them.

``stream = load_dataset(…)``, ``stream = stream.shuffle(…)``: a name stands for what it was bound to above its use, the
last time if nothing can lead around that. A list went through what its elements went through, also those that are
appended, and ``splits["train"]`` through what all splits went through. What a function of the program returns went
through what it returns, and its parameter through what the calls of the function give for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.last_bindings import last_set, reaching
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.regions import around, start
from gradcompat.scanners.code.syntax import defaults_of, last_name

_DEEPEST = 20
_MAX_BINDINGS = 20
_MOST = 500  # expressions that one object is followed through


def calls_behind(node: ast.AST, names: Names, scope: Scope) -> Iterator[ast.Call]:
    """The calls that made an object, the last one first; of a function's arguments the first is followed."""
    met = {node}
    waiting = [(node, scope, 0)]
    while waiting:
        one, within, depth = waiting.pop()
        if depth > _DEEPEST:
            continue
        if isinstance(one, ast.Call):
            yield one
        for inner, owner in _sources(one, names, within):
            if inner not in met and len(met) < _MOST:
                met.add(inner)
                waiting.append((inner, owner, depth + 1))


def called_name(call: ast.Call) -> str:
    """The last part of what is called; empty where it has no name."""
    return last_name(call.func)


def _sources(node: ast.AST, names: Names, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    match node:
        case ast.Call(func=ast.Attribute(value=owner), args=args):
            yield owner, scope
            if names.resolve(node.func, scope):  # a function of a module
                yield from ((one, scope) for one in args[:1])
        case ast.Call(func=function, args=args):
            yield from ((one, scope) for one in args[:1])
            yield from _returned(function, names, scope)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            yield from ((one, scope) for one in elements)
        case ast.ListComp(elt=element):
            yield element, names.scopes.get(node, scope)
        case ast.Subscript(value=owner, slice=ast.Constant(value=str())):  # one split of several
            yield owner, scope
        case ast.Attribute(value=ast.Name(id="self")):
            yield from _kept(node, names, scope)
        case ast.Name(id=name):
            bound = names.bindings(name, scope)
            if bound is not None:
                if None in bound[0]:
                    yield from _given(name, bound[1], names)
                above = [one for one in bound[0][:_MAX_BINDINGS] if isinstance(one, ast.expr)]
                above = sorted((one for one in above if one.lineno < node.lineno), key=lambda one: one.lineno)
                # In `model = wrap(model)` the name stands for what it was before.
                yield from ((one, bound[1]) for one in reaching(above, node, bound[1].node))
                grown = bound[1].grown.get(name, ())[:_MAX_BINDINGS]
                yield from ((one, bound[1]) for one in grown if one.lineno < node.lineno)


def _kept(attribute: ast.Attribute, names: Names, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """What the methods of a class set an attribute to above its use, or elsewhere."""
    within = scope.around_class
    if within is None or not isinstance(within.node, ast.ClassDef):
        return
    values = [one for one in within.attributes.get(attribute.attr, [])[:_MAX_BINDINGS] if isinstance(one, ast.expr)]
    for method in (one for one in within.node.body if isinstance(one, ast.FunctionDef)):
        own = around([method])
        inside = [one for one in values if own.holds(one)]
        if inside and own.holds(attribute):
            above = sorted((one for one in inside if start(one) < start(attribute)), key=start)
            inside = list(reaching(above, attribute, method))
        elif inside:
            inside = list(last_set(inside, method.body) or inside)
        yield from ((one, names.scopes[method]) for one in inside)


def _returned(function: ast.expr, names: Names, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
    """What a function of the same module returns."""
    defined = names.definition(function, scope)
    if defined is None or defined[0] is not names or not isinstance(defined[1], ast.FunctionDef):
        return
    within = names.scopes[defined[1]]
    for node in ast.walk(defined[1]):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value, within


def _given(name: str, scope: Scope, names: Names) -> Iterator[tuple[ast.AST, Scope]]:
    """What the calls of a function of the module give for its parameter, by position or by name."""
    function = scope.node
    if not isinstance(function, ast.FunctionDef) or scope.parent is not names.module:
        return
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    for call in names.calls_by_name.get(function.name, ()):
        given = dict(zip(parameters, call.args, strict=False)) | {word.arg: word.value for word in call.keywords}
        if name in given:
            yield given[name], names.scope_of(call)


def is_left_none(name: str, scope: Scope, names: Names) -> bool:
    """Is a name a parameter that is None by default, of a function or class that the module calls and gives none?"""
    function = scope.node
    if not isinstance(function, ast.FunctionDef) or scope.names.get(name) != [None]:
        return False
    ordered = [*function.args.posonlyargs, *function.args.args]
    default = defaults_of(function.args).get(name)
    if not isinstance(default, ast.Constant) or default.value is not None:
        return False
    owner = scope.parent.node if scope.parent is not None else None
    called, ordered = (owner.name, ordered[1:]) if isinstance(owner, ast.ClassDef) else (function.name, ordered)
    if isinstance(owner, ast.ClassDef) and function.name != "__init__":
        return False
    calls = [one for one in names.nodes(ast.Call) if isinstance(one, ast.Call) and last_name(one.func) == called]
    place = next((index for index, one in enumerate(ordered) if one.arg == name), None)
    return bool(calls) and not any(_may_give(call, name, place) for call in calls)


def _may_give(call: ast.Call, name: str, place: int | None) -> bool:
    if any(isinstance(one, ast.Starred) for one in call.args) or any(
        word.arg in (None, name) for word in call.keywords
    ):
        return True
    return place is not None and len(call.args) > place
