"""The calls that an object went through before it is used, as far as a program shows them.

``stream = load_dataset(…)``, ``stream = stream.shuffle(…)``: a name stands for what it was bound to above its use, the
last time if nothing can lead around that. A list went through what its elements went through, also those that are
appended, and ``splits["train"]`` through what all splits went through. What a function of the program returns went
through what it returns, and its parameter through what the calls of the function give for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.regions import Region, around, end, start
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
        case ast.Name(id=name):
            bound = names.bindings(name, scope)
            if bound is not None:
                if None in bound[0]:
                    yield from _given(name, bound[1], names)
                above = [one for one in bound[0][:_MAX_BINDINGS] if isinstance(one, ast.expr)]
                above = sorted((one for one in above if one.lineno < node.lineno), key=lambda one: one.lineno)
                if above:
                    instead = _instead(node, names)
                    above = [one for one in above if not any(region.holds(one) for region in instead)]
                yield from ((one, bound[1]) for one in _since_certain(above, node, bound[1]))
                grown = bound[1].grown.get(name, ())[:_MAX_BINDINGS]
                yield from ((one, bound[1]) for one in grown if one.lineno < node.lineno)


def _instead(node: ast.AST, names: Names) -> list[Region]:
    """What runs in place of a node: the other branches of the choices that it stands in. A loop may run both."""
    found = []
    for choice in names.nodes(ast.If):
        if not choice.orelse or not around([choice]).holds(node):
            continue
        ways = around(choice.body), around(choice.orelse)
        other = [way for way, here in zip(ways, reversed(ways), strict=True) if here.holds(node)]
        loops = (*names.nodes(ast.For), *names.nodes(ast.While)) if other else ()
        if not any(around([loop]).holds(choice) for loop in loops):
            found += other
    return found


def _since_certain(values: Sequence[ast.expr], node: ast.AST, scope: Scope) -> Sequence[ast.expr]:
    """What a name is bound to, without what is lost: what comes before a binding that each way to its use passes."""
    for index in range(len(values) - 1, 0, -1):
        block = _block_of(values[index], getattr(scope.node, "body", ()))
        # In `model = wrap(model)` the name stands for what it was before.
        if block and end(values[index]) <= start(node) < end(block[-1]):
            return values[index:]
    return values


def _block_of(value: ast.expr, block: Sequence[ast.AST]) -> Sequence[ast.AST]:
    """The statements among which one binds a name to a value; none where the name is a part of a target."""
    for statement in block:
        if not start(statement) <= start(value) < end(statement):
            continue
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is value:
            return block
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            found = _block_of(value, getattr(statement, part, ()))
            if found:
                return found
    return ()


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
