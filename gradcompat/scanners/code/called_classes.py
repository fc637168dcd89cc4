"""What a call is given, and which callable of another package takes it: the class itself, or the base of one here."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from gradcompat.scanners.code.names import Imported, Names, Scope
from gradcompat.startup.lazy_dataclasses import dataclass

_DEEPEST = 8
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__init_subclass__"})


@dataclass(frozen=True, slots=True)
class Callee:
    """A callable of another package.

    Attributes:
        name: in full, ``transformers.TrainingArguments``.
        own: the keywords that a class of the project, which inherits from it, may take itself.
    """

    name: str
    own: frozenset[str] = frozenset()


def called_by(node: ast.AST, scope: Scope, names: Names, depth: int = 0) -> Callee | None:
    """What is called: by its own name, or as the one base of a class of this module that leaves its constructor alone.

    Args:
        node: what stands before the parentheses.
        scope: where it stands.
        names: of the module.
        depth: how many classes lead to it.
    """
    full = full_name(node, scope, names)
    if full is not None:
        return Callee(full)
    bound = names.bindings(node.id, scope) if isinstance(node, ast.Name) and depth < _DEEPEST else None
    match None if bound is None else bound[0]:
        case [ast.ClassDef(bases=[base], keywords=[]) as defined] if bound is not None:
            own = _own_fields(defined, bound[1], names)
            callee = None if own is None else called_by(base, bound[1], names, depth + 1)
            return None if callee is None or own is None else Callee(callee.name, callee.own | own)
    return None


def _own_fields(defined: ast.ClassDef, scope: Scope, names: Names) -> frozenset[str] | None:
    """The names in the body of a class that may be its fields; None where it may be called otherwise."""
    decorators = (one.func if isinstance(one, ast.Call) else one for one in defined.decorator_list)
    if any(names.resolve(one, scope) != ("dataclasses.dataclass",) for one in decorators):
        return None
    found: set[str] = set()
    for statement in defined.body:
        match statement:
            case ast.FunctionDef(name=name) if name not in _CONSTRUCTORS:
                continue
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case _:
                return None
    return None if found & _CONSTRUCTORS else frozenset(found)


def keywords_of(call: ast.Call, scope: Scope, names: Names) -> Iterator[tuple[str, ast.AST]]:
    """The keywords of a call with where they are written, those of a mapping that is unpacked among them.

    A mapping counts if it is written in the call, or bound once and only unpacked: nothing takes a key out of it.
    """
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword
            continue
        yield from _keys(_mapping(keyword.value, scope, names))


def _mapping(node: ast.expr, scope: Scope, names: Names) -> ast.AST | None:
    if not isinstance(node, ast.Name):
        return node
    bound = names.bindings(node.id, scope)
    match None if bound is None else bound[0]:
        case [(ast.Dict() | ast.Call(func=ast.Name(id="dict"))) as mapping] if bound is not None:
            return mapping if _keeps_keys(node.id, bound[1].node) else None
    return None


def _keeps_keys(name: str, within: ast.AST) -> bool:
    """Is a mapping only unpacked, asked for a key and given some, wherever it is mentioned?"""
    kept: set[int] = set()
    mentioned: set[int] = set()
    for node in ast.walk(within):
        match node:
            case ast.keyword(arg=None, value=value) | ast.Subscript(value=value, ctx=ast.Load() | ast.Store()):
                kept.add(id(value))
            case ast.Name(id=found, ctx=ast.Load()) if found == name:
                mentioned.add(id(node))
    return mentioned <= kept


def _keys(node: ast.AST | None) -> Iterator[tuple[str, ast.AST]]:
    """The keys of ``{"a": 1}`` and of ``dict(a=1)``."""
    match node:
        case ast.Dict(keys=keys):
            yield from (
                (key.value, key) for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            )
        case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
            yield from ((keyword.arg, keyword) for keyword in keywords if keyword.arg is not None)


def is_elsewhere(module: str, names: Names) -> bool:
    """Is it a module of another distribution?"""
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return False
    return names.modules is None or (names.modules.find(module) is None and not names.modules.has_copy(root))


def full_name(node: ast.AST, scope: Scope, names: Names) -> str | None:
    """``transformers.TrainingArguments``, where the name is bound by imports alone and stands for one thing."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return None
    bound = names.bindings(inner.id, scope)
    if bound is None or not bound[0] or not all(isinstance(imported, Imported) for imported in bound[0]):
        return None
    found = names.resolve(node, scope)
    if len(found) != 1 or "." not in found[0] or found[0].startswith(".") or not is_elsewhere(found[0], names):
        return None
    return found[0]
