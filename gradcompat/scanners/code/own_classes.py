"""Calls of classes of the project as calls of what they derive from: ``Mine(args=RewardConfig(…))``, a RewardTrainer.

A class counts as its base where it hands on what it is given, and has no other method of its own than the constructor.
Of a Trainer every method may be its own: which of them a defect is about its record says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from gradcompat.scanners.code.calls import known
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import defaults_of
from gradcompat.startup.lazy_dataclasses import dataclass

_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_DEEPEST = 8  # of classes that derive from one another
_CONSTRUCTORS = frozenset({"__new__", "__init_subclass__", "__post_init__"})
_UNREAD = ast.Constant(value=...)  # which no reader takes for a literal


@dataclass(frozen=True, slots=True)
class _Given:
    """What a constructor is given.

    Attributes:
        positional: the values without a name.
        named: the others.
        whole: nothing is given that is put together elsewhere.
    """

    positional: tuple[ast.expr, ...]
    named: Mapping[str, ast.expr]
    whole: bool = True


def called_base(call: ast.Call, names: Names, scope: Scope) -> tuple[tuple[str, ...], ast.Call] | None:
    """The class of another package that a call makes an object of, and the call as that class gets it.

    None where the class is none of the project's, has several bases, or may do without its base.
    """
    node = call.func
    last = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    defined = names.definition(node, scope) if last.lstrip("_")[:1].isupper() else None
    given: _Given | None = _given(call)
    for _ in range(_DEEPEST):
        if defined is None or given is None:
            return None
        owner, own, within = defined
        if not isinstance(own, ast.ClassDef) or len(own.bases) != 1:
            return None
        base = own.bases[0]
        called = owner.resolve(base, within)
        trains = any((one := known(name)) is not None and one.trains for name in called)
        if own.keywords or not all(_is_extension(method, trains=trains) for method in _methods(own)):
            return None
        given = _handed_on(own, given, owner, within)
        if called:
            return None if given is None else (called, _as_call(call, given))
        defined = owner.definition(base, within)
    return None


def is_own_method(function: ast.Attribute, names: Names, scope: Scope) -> bool:
    """Is it a method that a class of the project has: ``Zoo().feed``, ``zoo.feed`` behind ``zoo = Zoo()``?"""
    made: ast.AST = function.value
    if isinstance(made, ast.Name):
        bound = names.bound_once(made.id, scope)
        if bound is None:
            return False
        made, scope = bound
    defined = names.definition(made.func, scope) if isinstance(made, ast.Call) else None
    own = defined[1] if defined is not None else None
    return isinstance(own, ast.ClassDef) and any(method.name == function.attr for method in _methods(own))


def _methods(own: ast.ClassDef) -> Iterator[_Function]:
    return (one for one in own.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _is_extension(method: _Function, *, trains: bool) -> bool:
    """Does the base's work stay the base's?"""
    return method.name not in _CONSTRUCTORS and (trains or method.name == "__init__")


def _is_of_base(node: ast.AST, method: str, own: ast.ClassDef) -> bool:
    """``super().step``, ``super(Mine, self).step``."""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=args), attr=name) if name == method:
            return not args or (isinstance(args[0], ast.Name) and args[0].id == own.name)
    return False


def _given(call: ast.Call) -> _Given:
    plain = not any(isinstance(one, ast.Starred) for one in call.args)
    named = {word.arg: word.value for word in call.keywords if word.arg is not None}
    return _Given(tuple(call.args) if plain else (), named, plain and len(named) == len(call.keywords))


def _as_call(call: ast.Call, given: _Given) -> ast.Call:
    words = [ast.keyword(arg=name, value=value) for name, value in given.named.items()]
    elsewhere = [] if given.whole else [ast.keyword(arg=None, value=_UNREAD)]
    return ast.copy_location(ast.Call(func=call.func, args=list(given.positional), keywords=[*words, *elsewhere]), call)


def _handed_on(own: ast.ClassDef, given: _Given, owner: Names, within: Scope) -> _Given | None:
    """What the base gets: by way of the constructor, or as a dataclass, whose fields have defaults of their own."""
    constructors = [one for one in _methods(own) if one.name == "__init__"]
    if constructors:
        return _by_constructor(constructors[0], own, given) if len(constructors) == 1 else None
    decorators = [one.func if isinstance(one, ast.Call) else one for one in own.decorator_list]
    if not decorators:
        return given
    if any(owner.resolve(one, within) != ("dataclasses.dataclass",) for one in decorators):
        return None
    fields = (one for one in own.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name))
    defaults = {one.target.id: one.value for one in fields if isinstance(one.target, ast.Name)}
    read = {name: value if isinstance(value, ast.Constant) else _UNREAD for name, value in defaults.items() if value}
    return _Given(given.positional, {**read, **given.named}, given.whole)


def _by_constructor(constructor: _Function, own: ast.ClassDef, given: _Given) -> _Given | None:
    """What ``super().__init__(*args, **kwargs)`` gets of what the constructor of the class is given."""
    calls = [statement.value for statement in constructor.body if isinstance(statement, ast.Expr)]
    asked = [one for one in calls if isinstance(one, ast.Call) and _is_of_base(one.func, "__init__", own)]
    taken = constructor.args
    if len(asked) != 1 or taken.posonlyargs or len(taken.args) < 1:
        return None
    parameters = [one.arg for one in taken.args[1:]]
    behind = {name: default for name, default in defaults_of(taken).items() if name != taken.args[0].arg}
    known_names = {*parameters, *(keyword.arg for keyword in taken.kwonlyargs)}
    values: dict[str, ast.expr] = {}
    for name, default in behind.items():
        values[name] = default if isinstance(default, ast.Constant) else _UNREAD
    values |= dict(zip(parameters, given.positional, strict=False))
    values |= {name: value for name, value in given.named.items() if name in known_names}
    rest = {name: value for name, value in given.named.items() if name not in known_names}
    more = given.positional[len(parameters) :]
    names = [node for node in ast.walk(constructor) if isinstance(node, ast.Name)]
    changed = {node.id for node in names if isinstance(node.ctx, ast.Store)}

    def passed(node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant):
            return node
        return values.get(node.id, _UNREAD) if isinstance(node, ast.Name) and node.id not in changed else _UNREAD

    positional: list[ast.expr] = []
    named: dict[str, ast.expr] = {}
    whole = given.whole
    for one in asked[0].args:
        match one:
            case ast.Starred(value=ast.Name(id=name)) if taken.vararg is not None and name == taken.vararg.arg:
                positional += more
            case ast.Starred():
                return None
            case _:
                positional.append(passed(one))
    for word in asked[0].keywords:
        match word:
            case ast.keyword(arg=str(name), value=value):
                named[name] = passed(value)
            case ast.keyword(value=ast.Name(id=name)) if taken.kwarg is not None and name == taken.kwarg.arg:
                if sum(node.id == name for node in names) > 1:
                    whole = False  # something is taken out of it, or put into it
                else:
                    named |= rest
            case _:
                whole = False
    return _Given(tuple(positional), named, whole)
