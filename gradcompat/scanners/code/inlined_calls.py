"""Calls of small functions of a project, in whose place a program is read with what they return.

``loader = make_loader(data, workers=0)`` is read as ``loader = DataLoader(data, num_workers=0)`` where ``make_loader``
does nothing but return that. The program then says in one place what comes before what, what happens to the loader, and
behind which condition it is made, as it would if it had the call itself.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from gradcompat.model.environment import Location
from gradcompat.scanners.code.arguments import Place
from gradcompat.scanners.code.names import Imported, Names, Scope
from gradcompat.scanners.code.syntax import defaults_of, nodes_in

_BUILTINS: Final = frozenset(dir(builtins))
_Node = TypeVar("_Node", bound=ast.AST)
_MOST_CALLS = 200  # of one program
_MOST_NODES = 500  # of what one function returns
# What binds names of its own, or leaves the function otherwise than by its end.
_NOT_PLAIN = (
    *(ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom),
)


class Inlined(NamedTuple):
    """A program with what small functions return in the place of their calls.

    Attributes:
        tree: the program.
        place: where its nodes stand; what a function returns stands there.
        text: what functions of other modules return, as text.
    """

    tree: ast.Module
    place: Place
    text: str


def inlined(tree: ast.Module, names: Names, place: Place) -> Inlined | None:
    """A program with what small functions return in the place of their calls; None if it calls none."""
    own = (one.name for one in tree.body if isinstance(one, ast.FunctionDef) and _only_value(one) is not None)
    leading = {*own, *_of_project(names)}
    if not leading:
        return None
    inliner = _Inliner(names)
    body = [inliner.visited(one) if leading & _words(one) else one for one in tree.body]
    if not inliner.origins:
        return None
    named = Counter(name for one in body for name in _words(one))
    body = [
        one for one in body if not (isinstance(one, ast.FunctionDef) and one in inliner.read and not named[one.name])
    ]
    first = next((index for index, one in enumerate(body) if not _stands_first(one)), len(body))
    body[first:first] = inliner.imports
    origins = inliner.origins

    def origin(node: ast.AST) -> Location:
        found = origins.get(node)
        return place(node) if found is None else (found[1] or place)(found[0])

    text = "\n".join(ast.unparse(one) for one in inliner.returned)
    return Inlined(ast.Module(body, tree.type_ignores), origin, text)


def _of_project(names: Names) -> Iterator[str]:
    """The names that imports of the project's modules bind."""
    modules = names.modules
    if modules is not None:
        for name, fulls in names.imported_as.items():
            if any(modules.find(full) is not None for full in fulls):
                yield name


class _Function(NamedTuple):
    """A function of a project that does nothing but return what one call gives.

    Attributes:
        module: how the program may import from its module.
        names: those of this module.
        definition: the function.
        value: what it returns.
    """

    module: str
    names: Names
    definition: ast.FunctionDef
    value: ast.Call


class _Inliner(ast.NodeTransformer):
    """Puts what functions return in the place of their calls.

    Attributes:
        origins: the nodes that come from other modules, with those that they are copies of and where these stand.
        imports: what the program has to import for them.
        read: the functions that are read in the place of their calls.
        returned: what those of other modules return.
    """

    def __init__(self, names: Names) -> None:
        self.origins: dict[ast.AST, tuple[ast.AST, Place | None]] = {}
        self.imports: list[ast.stmt] = []
        self.read: list[ast.stmt] = []
        self.returned: list[ast.Call] = []
        self._names = names
        self._imported: dict[str, str] = {}

    def visited(self, statement: ast.stmt) -> ast.stmt:
        """A statement with what it calls in place; itself where there is nothing to put there."""
        if not any(self._expression(call) is not None for call in nodes_in(statement) if isinstance(call, ast.Call)):
            return statement
        copied: ast.stmt = self.visit(self._copy(statement, None))
        return copied

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        found = self._expression(node) if len(self.read) < _MOST_CALLS else None
        if found is None:
            return node
        function, given = found
        names = function.names
        other = names is not self._names and names.modules is not None
        here = names.modules.place() if other and names.modules is not None else None
        copied = self._placed(function.value, here, node)
        self.read.append(function.definition)
        if names is not self._names:
            self.returned.append(function.value)
        own = [*node.args, *(word.value for word in node.keywords)]
        given = {name: value if value in own else self._placed(value, here, node) for name, value in given.items()}
        whole: ast.expr = _Given(given).visit(copied)
        self._import(function, given, node)
        return whole

    def _placed(self, node: _Node, place: Place | None, call: ast.Call) -> _Node:
        """A copy that stands where a call does."""
        copied = self._copy(node, place)
        for inner in ast.walk(copied):
            ast.copy_location(inner, call)
        return copied

    def _copy(self, node: _Node, place: Place | None) -> _Node:
        """A copy, whose nodes are known by those that they are copies of."""
        copied = deepcopy(node)
        for one, other in zip(ast.walk(copied), ast.walk(node), strict=True):
            self.origins[one] = self.origins.get(other, (other, place))
        return copied

    def _expression(self, call: ast.Call) -> tuple[_Function, Mapping[str, ast.expr]] | None:
        """The function that a call is read for, and what stands for the names in it; None where that cannot be."""
        scope = self._names.scope_of(call)
        function = _function(call, self._names, scope)
        if function is None:
            return None
        given = _given(call, function)
        if given is None:
            return None
        for name in _free(function.value) - given.keys():
            if not self._means_the_same(name, function, scope):
                return None
        return function, given

    def _means_the_same(self, name: str, function: _Function, scope: Scope) -> bool:
        """May a name of the function's module stand in the program?"""
        owner = function.names.module.names.get(name)
        here = self._names.bindings(name, scope)
        if function.names is self._names:
            return here is None or here[1] is self._names.module
        if owner is None:
            return name in _BUILTINS and here is None
        if len(owner) != 1:
            return False
        full = owner[0].name if isinstance(owner[0], Imported) else f"{function.module}.{name}"
        if isinstance(owner[0], Imported) and full.startswith("."):
            full = f"{function.module}.{name}"
        if here is None:
            return self._imported.get(name, full) == full
        bound = here[0][0] if len(here[0]) == 1 else None
        return isinstance(bound, Imported) and bound.name == full

    def _import(self, function: _Function, given: Mapping[str, ast.expr], call: ast.Call) -> None:
        scope = self._names.scope_of(call)
        for name in sorted(_free(function.value) - given.keys()):
            owner = function.names.module.names.get(name)
            if (
                owner is None
                or function.names is self._names
                or self._names.bindings(name, scope) is not None
                or name in self._imported
            ):
                continue
            outside = isinstance(owner[0], Imported) and not owner[0].name.startswith(".")
            full = owner[0].name if outside and isinstance(owner[0], Imported) else f"{function.module}.{name}"
            self._imported[name] = full
            self.imports.append(ast.copy_location(_import_of(full, name), call))


class _Given(ast.NodeTransformer):
    """An expression with others in the place of its parameters."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._given.get(node.id, node)


def _import_of(full: str, name: str) -> ast.stmt:
    """What binds a name to a full one."""
    if full == name:
        return ast.Import([ast.alias(name)])
    head, _, last = full.rpartition(".")
    bare = head.lstrip(".")
    level = len(head) - len(bare) + (0 if bare or not head else 1) if full.startswith(".") else 0
    if not head:
        return ast.Import([ast.alias(full, name)])
    return ast.ImportFrom(bare or None, [ast.alias(last, None if last == name else name)], level)


def _function(call: ast.Call, names: Names, scope: Scope) -> _Function | None:
    """The function of the project that a call is of, if it does nothing but return a call."""
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return None
    found = names.definition(call.func, scope)
    if found is None or found[0].rewritten or found[2] is not found[0].module:
        return None
    owner, function, _ = found
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    if owner.module.names.get(function.name) != [function]:
        return None
    value = _only_value(function)
    if owner is names and value is not None:
        return _Function("", owner, function, value)
    full = _full_name(call.func, names, scope)
    leads = None if full is None or names.modules is None else names.modules.find(full)
    if value is None or full is None or leads is None or leads[0] is not owner or leads[1] != function.name:
        return None
    return _Function(full.rpartition(".")[0], owner, function, value)


def _full_name(node: ast.expr, names: Names, scope: Scope) -> str | None:
    """What an expression is imported as, with the attributes behind it."""
    rest = ""
    while isinstance(node, ast.Attribute):
        rest, node = f".{node.attr}{rest}", node.value
    bound = names.bindings(node.id, scope) if isinstance(node, ast.Name) else None
    only = bound[0][0] if bound is not None and len(bound[0]) == 1 else None
    return f"{only.name}{rest}" if isinstance(only, Imported) else None


def _only_value(function: ast.FunctionDef) -> ast.Call | None:
    match function.body:
        case [ast.Return(value=ast.Call() as value)]:
            pass
        case [ast.Expr(value=ast.Constant(value=str())), ast.Return(value=ast.Call() as value)]:
            pass
        case _:
            return None
    nodes = list(islice(nodes_in(value), _MOST_NODES + 1))
    return None if len(nodes) > _MOST_NODES or any(isinstance(node, _NOT_PLAIN) for node in nodes) else value


def _given(call: ast.Call, function: _Function) -> Mapping[str, ast.expr] | None:
    """What a call gives for each parameter of a function; None where it gives what the function does not take alone."""
    taken = function.definition.args
    if taken.vararg or taken.kwarg or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    ordered = [one.arg for one in (*taken.posonlyargs, *taken.args)]
    every = [*ordered, *(one.arg for one in taken.kwonlyargs)]
    words = [word.arg for word in call.keywords]
    if len(call.args) > len(ordered) or not {*words} <= {*every[len(call.args) :]}:
        return None
    given = dict(zip(ordered, call.args, strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg is not None}
    for name, default in defaults_of(taken).items():
        if name not in given and _free(default):
            return None
        given.setdefault(name, default)
    uses = Counter(node.id for node in nodes_in(function.value) if isinstance(node, ast.Name))
    if any(uses[name] != 1 and _does_something(value) for name, value in given.items()):
        return None
    return given if given.keys() == {*every} else None


def _does_something(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in nodes_in(value))


def _free(value: ast.expr) -> set[str]:
    return {node.id for node in nodes_in(value) if isinstance(node, ast.Name)}


def _words(statement: ast.stmt) -> set[str]:
    return {node.id for node in nodes_in(statement) if isinstance(node, ast.Name)}


def _stands_first(statement: ast.stmt) -> bool:
    """Is it the text that says what a module does, or what has to stand in front of all imports?"""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom(module="__future__"):
            return True
    return False
