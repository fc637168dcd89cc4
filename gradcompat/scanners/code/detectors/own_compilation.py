"""What a program compiles by torch: functions without a model, blocks one by one, and modules that compile themselves.

The last do so by a method that other libraries have for something else.
"""

from __future__ import annotations

import ast
import builtins
import re

from gradcompat.scanners.code.calls import KERAS
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

_MODULE = lazy_pattern(r"model|module|net$|network|encoder|decoder|transformer|block|layer|engine", re.IGNORECASE)
BLOCKS = "torch.compile.of_blocks"
# Functions and losses that hold no part of a model: ``torch.compile(flex_attention)``, ``torch.compile(nn.MSELoss())``.
_NO_MODEL = lazy_pattern(
    r"torch\.nn\.(?:functional|attention)\..+|torch\.nn\.(?:\w+\.)*\w+Loss|torch\.\w+|torch\.optim\..+"
)
_OF_LIBRARIES = frozenset({"torch", "math", "builtins", "numpy", "einops", "functools", "typing"})
# Functions of torch that call a module which they are given, and what parts of a model are called beside modules.
_CALLS_WHAT_IT_GETS = lazy_pattern(r"torch\.(?:func|utils\.checkpoint)\.")
_PART = lazy_pattern(r"policy|actor|critic|agent|generator|discriminator|vae", re.IGNORECASE)
_DEEPEST = 3  # functions that call functions
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ARGUMENTS = frozenset({"fullgraph", "dynamic", "backend", "mode", "options", "disable"})  # those of torch.compile


def compiles_itself(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``model.compile(mode="max-autotune")``; not ``graph.compile()``, nor Keras' with an optimizer and a loss."""
    match call:
        case ast.Call(func=ast.Attribute(attr="compile", value=owner), args=[], keywords=words):
            called = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            return (
                _MODULE.search(called) is not None
                and all(word.arg in _ARGUMENTS for word in words)
                and all(kind.partition(".")[0] not in KERAS for kind in names.type_of(owner, scope))
            )
    return False


def compiles_no_model(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``torch.compile(optimizer.step)``, ``torch.compile(F.cross_entropy)``, or a function that calls no module."""
    compiled = call.args[0] if call.args else None
    if compiled is None:
        decorated = [one for one in names.nodes(ast.FunctionDef) if call in one.decorator_list]
        return bool(decorated) and not any(runs_model(one, names, names.scopes[one]) for one in decorated)
    if isinstance(compiled, ast.Attribute) and compiled.attr == "step":
        return True
    defined = names.definition(compiled, scope)
    if defined is not None:
        owner, function, _ = defined
        return isinstance(function, _Function) and not runs_model(function, owner, owner.scopes[function])
    called = names.resolve(compiled, scope) or names.type_of(compiled, scope)
    return bool(called) and all(map(_NO_MODEL.fullmatch, called))


def runs_model(function: _Function, names: Names, scope: Scope, depth: int = 0) -> bool:
    """Does a function call a module, or something that may be one? Calls of torch, and methods of tensors, are none."""
    return any(
        _may_be_model(one.func, names, scope, depth)
        for statement in function.body
        for one in nodes_in(statement)
        if isinstance(one, ast.Call)
    )


def _may_be_model(called: ast.expr, names: Names, scope: Scope, depth: int) -> bool:
    resolved = names.resolve(called, scope)
    if any(map(_CALLS_WHAT_IT_GETS.match, resolved)):
        return True
    if any(one.partition(".")[0] in _OF_LIBRARIES for one in resolved):
        return False
    match called:
        case ast.Name(id=name):
            defined = names.definition(called, scope)
            if defined is None or depth == _DEEPEST:
                return not hasattr(builtins, name)
            owner, function, _ = defined
            return not isinstance(function, _Function) or runs_model(function, owner, owner.scopes[function], depth + 1)
        case ast.Attribute(attr="forward" | "backward") | ast.Attribute(value=ast.Name(id="self" | "cls")):
            return True
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return (_MODULE.search(name) or _PART.search(name)) is not None
        case ast.Attribute():
            return False
    return True


def compiles_blocks(call: ast.Call, names: Names) -> bool:
    """``for block in model.layers: block.compile()``, and ``layers[i] = torch.compile(block)``."""
    match call:
        case (
            ast.Call(args=[ast.Name(id=name), *_])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="compile"))
        ):
            return any(
                call in nodes_in(loop)
                and any(isinstance(one, ast.Name) and one.id == name for one in nodes_in(loop.target))
                for loop in names.nodes(ast.For)
            )
    return False
