"""Programs that make the weights of a model float32 after they have loaded it or put adapters on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.syntax import names_beside

_EACH = frozenset({"parameters", "named_parameters", "modules", "named_modules"})


def makes_float(call: ast.Call, names: Names) -> bool:
    """Are the weights of what the call gets or gives made float32, as a whole or one by one, in its file?"""
    own = {one.id for one in names_beside(call, names.nodes(ast.Assign)) if isinstance(one, ast.Name)}
    own |= set(_handed_to(own, names))
    own |= set(_parts(own, names))
    own |= set(_parts(own, names))  # of a list of them
    return any(_casts(node, call, own) for node in names.nodes(ast.Call))


def _handed_to(own: set[str], names: Names) -> Iterator[str]:
    """The parameters of functions of the file that get what the names stand for: ``upcast(model)``."""
    functions = {node.name: node.args.args for node in names.nodes(ast.FunctionDef)}
    for node in names.nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in functions:
            for parameter, given in zip(functions[node.func.id], node.args, strict=False):
                if isinstance(given, ast.Name) and given.id in own:
                    yield parameter.arg


def _parts(own: set[str], names: Names) -> Iterator[str]:
    """The names of what goes through the weights: ``for p in model.parameters()``, a list of those that are trained."""
    for node in (*names.nodes(ast.For), *names.nodes(ast.Assign)):
        match node:
            case ast.For(target=target, iter=iterable) if _goes_through(iterable, own):
                yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() | ast.Call(func=ast.Name()) as made):
                if _goes_through(made, own):
                    yield name


def _goes_through(iterable: ast.expr, own: set[str]) -> bool:
    if isinstance(iterable, ast.Name):
        return iterable.id in own
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _EACH
        and isinstance(node.value, ast.Name)
        and node.value.id in own
        for node in ast.walk(iterable)
    )


def _casts(node: ast.Call, call: ast.Call, own: set[str]) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    weights = node.func.value
    if isinstance(weights, ast.Attribute) and weights.attr in ("data", "model"):  # of a parameter, of what wraps it
        weights = weights.value
    if weights is not call and not (isinstance(weights, ast.Name) and weights.id in own):
        return False
    if node.func.attr == "float" or (node.func.attr == "apply" and _is_float(node.args)):
        return True
    given = [*node.args, *(word.value for word in node.keywords if word.arg == "dtype")]
    return node.func.attr == "to" and any(
        isinstance(one, ast.Attribute) and one.attr in ("float32", "float") and _is_torch(one.value) for one in given
    )


def _is_float(given: Sequence[ast.expr]) -> bool:
    """``lambda module: module.float()``."""
    match given:
        case [ast.Lambda(body=ast.Call(func=ast.Attribute(attr="float", value=ast.Name())))]:
            return True
    return False


def _is_torch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "torch"
