"""What a program takes from other packages and cannot do without: imports, attributes of modules, keyword arguments.

What a program guards is left out: a `try` that catches the failure, a branch that asks for a version, for availability
or with `hasattr`, code for type checkers, what stands behind a guarded `return`, and functions that are only called in
such places. So is every name that the program puts into a module itself, and every package of which the project has a
copy. What stands behind any other condition may never run, and is marked so; so is an import in a function that the
module does not run by itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from gradcompat.model.code_use import CodeUse, UseKind
from gradcompat.scanners.code.arguments import Place
from gradcompat.scanners.code.called_classes import called_by, full_name, is_elsewhere, keywords_of
from gradcompat.scanners.code.names import Imported, Names, Scope
from gradcompat.scanners.code.syntax import LEAVES, LEAVING, TRIES, asks_for_main, children, nodes_in
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What decides how surely the nodes below it are executed, or whether they are looked at.
_STRUCTURED = frozenset(
    {
        *(ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.While, ast.With, ast.AsyncWith, ast.Attribute, ast.AnnAssign),
        *(*TRIES, *_FUNCTIONS, ast.ClassDef, ast.Module),
    }
)
# What a failing import, a missing attribute or an unexpected argument raises, and what catches that.
_CAUGHT = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "RuntimeError", "Exception", "BaseException"}
)
# A condition with one of these words may well ask whether the name is there.
_GUARD = lazy_pattern(
    r"version|avail|type_checking|has|find_spec|signature|getattr|import|require|support|install|exist|packaging"
    r"|legacy|compat|\bdir\b|\bold|\bnew|__dict__|sys\.modules|\bis (?:not )?None",
    re.IGNORECASE,
)
# A function with one of these words in it may well answer that.
_ASKING = lazy_pattern(r"__version__|importlib|find_spec|hasattr|ImportError|signature|\bversion\(")
# And so may a function of another package: `from importlib.metadata import version as installed`.
_ANSWERING = lazy_pattern(r"version|availab|find_spec|hasattr")
# A call with such a name and such a requirement ends the program with any newer release.
_REQUIRING = lazy_pattern(r"version", re.IGNORECASE)
_CAPPED = lazy_pattern(r"[A-Za-z][\w.-]*[^;]*(?:<|==|~=)")
_SUPPRESSING = lazy_pattern(r"suppress|raises|warns")
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_MOST = 5_000  # of one file


class Certainty(IntEnum):
    """How surely a statement is executed, and its failure ends the program."""

    GUARDED = 0
    CONDITIONAL = 1
    CERTAIN = 2


@dataclass(frozen=True, slots=True)
class ModuleUses:
    """What one module takes from others.

    Attributes:
        uses: each once, where it stands first; in the order of the file.
        imports: what it imports, in full, relative imports with their dots, and how surely.
        given: the names that it puts into modules of others (``transformers.AdamW = torch.optim.AdamW``).
        caught: the names that it takes, by what guards them all.
    """

    uses: tuple[CodeUse, ...] = ()
    imports: Mapping[str, Certainty] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    caught: frozenset[str] = frozenset()


def module_uses(tree: ast.Module, names: Names, place: Place) -> ModuleUses:
    """What a module takes from other packages, and from the project."""
    walk = _Walk(names)
    walk.run(tree)
    found: dict[tuple[UseKind, str, str | None, str | None], CodeUse] = {}
    imports: dict[str, Certainty] = {}
    caught: set[str] = set()
    for seen in walk.seen:
        certainty = seen.certainty if walk.is_called(seen.functions) else Certainty.GUARDED
        if walk.is_imported_late(seen):
            certainty = min(certainty, Certainty.CONDITIONAL)
        if isinstance(seen.node, (ast.Import, ast.ImportFrom)):
            for full in _imported_names(seen.node):
                imports[full] = max(imports.get(full, Certainty.GUARDED), certainty)
        if certainty is Certainty.GUARDED and len(caught) < _MOST:
            named = (one for one in _uses_of(seen.node, seen.scope, names) if one[0] != "keyword")
            caught.update(module if name is None else f"{module}.{name}" for _, module, name, _, _ in named)
        if certainty is Certainty.GUARDED or len(found) >= _MOST:
            continue
        for kind, module, name, keyword, node in _uses_of(seen.node, seen.scope, names):
            key = (kind, module, name, keyword)
            if key not in found or (found[key].conditional and certainty is Certainty.CERTAIN):
                found[key] = CodeUse(
                    kind=kind,
                    module=module,
                    name=name,
                    keyword=keyword,
                    location=place(node),
                    conditional=certainty is Certainty.CONDITIONAL,
                )
    caught -= {use.full_name for use in found.values()}
    return ModuleUses(tuple(found.values()), imports, walk.given, frozenset(caught))


_Use = tuple[UseKind, str, "str | None", "str | None", ast.AST]


class _Seen(NamedTuple):
    """A node that may use something, with the functions around it by their names."""

    node: ast.AST
    scope: Scope
    certainty: Certainty
    functions: tuple[str, ...]


class _Walk:
    """One pass over a module: what may use something, and where its functions are mentioned.

    Attributes:
        seen: in the order of the file.
        given: the names that the module puts into modules of others.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self.seen: list[_Seen] = []
        self.given: frozenset[str] = frozenset()
        self._asking: dict[ast.expr, bool] = {}
        self._mentions: dict[str, bool] = {}  # whether some mention is not guarded
        # What surely runs calls, or gives to what it calls, by the functions around it.
        self._leads_to: dict[tuple[str, ...], set[str]] = {}
        self._running: frozenset[str] = frozenset()

    def run(self, tree: ast.Module) -> None:
        """Look at every node that is evaluated."""
        given: set[str] = set()
        stores = frozenset[ast.AST](self._names.stores)
        waiting: list[tuple[ast.AST, Scope, Certainty, tuple[str, ...], str]] = [
            (tree, self._names.module, Certainty.CERTAIN, (), "")
        ]
        while waiting:
            node, scope, certainty, functions, owner = waiting.pop()
            if node in stores:
                given.update(self._given(node, scope))
            if isinstance(node, (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute)):
                self.seen.append(_Seen(node, scope, certainty, functions))
            if isinstance(node, ast.Call) and certainty is Certainty.CERTAIN:
                self._leads_to.setdefault(functions, set()).update(_called(node))
            mentioned = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            if mentioned is not None and mentioned not in functions:
                self._mentions[mentioned] = self._mentions.get(mentioned, False) or certainty > Certainty.GUARDED
            if isinstance(node, LEAVES):
                continue
            inner = self._names.scopes.get(node, scope)
            around = functions
            if isinstance(node, _FUNCTIONS):  # whoever calls a class calls its constructor
                around = (*functions, owner if owner and node.name in _CONSTRUCTORS else node.name)
            owner = node.name if isinstance(node, ast.ClassDef) else ""
            if type(node) in _STRUCTURED:
                below = list(self._below(node, scope, certainty))
                waiting.extend([(one, inner, how, around, owner) for one, how in reversed(below)])
            else:
                waiting.extend([(one, inner, certainty, around, owner) for one in reversed(children(node))])
        self.given = frozenset(given)
        self._running = self._surely_run()

    def _surely_run(self) -> frozenset[str]:
        """The functions that the module runs by itself."""
        running: set[str] = set()
        fresh: set[str] = set(self._leads_to.pop((), ()))
        while fresh:
            running |= fresh
            led = [mentioned for around, mentioned in self._leads_to.items() if running.issuperset(around)]
            fresh = set().union(*led) - running
        return frozenset(running)

    def is_imported_late(self, seen: _Seen) -> bool:
        """Is it an import in a function that nothing surely runs, or a use of what one imports?"""
        if not seen.functions or self._running.issuperset(seen.functions):
            return False
        node = seen.node
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return True
        root = node.func if isinstance(node, ast.Call) else node
        while isinstance(root, ast.Attribute):
            root = root.value
        bound = self._names.bindings(root.id, seen.scope) if isinstance(root, ast.Name) else None
        return bound is not None and bound[1] is not self._names.module

    def is_called(self, functions: Sequence[str]) -> bool:
        """May these functions be called where no failure is caught? What the module never mentions others may call."""
        return all(self._mentions.get(function, True) for function in functions)

    def _below(self, node: ast.AST, scope: Scope, certainty: Certainty) -> Iterator[tuple[ast.AST, Certainty]]:
        """The nodes directly below one of the structured ones, and how surely each is executed."""
        guarded = Certainty.GUARDED
        match node:
            case ast.If(test=test, body=body, orelse=otherwise):
                yield test, guarded  # a condition is where one asks
                inner = min(certainty, self._behind(test, scope))
                yield from self._block(body, inner, scope)
                yield from self._block(otherwise, inner, scope)
            case ast.IfExp(test=test) | ast.BoolOp(values=[test, *_]):
                inner = min(certainty, self._behind(test, scope))
                yield from ((child, certainty if child is test else inner) for child in children(node))
            case ast.Match(subject=subject, cases=cases):
                inner = min(certainty, self._behind(subject, scope))
                yield subject, guarded
                for case in cases:
                    yield from self._block(case.body, inner, scope)
            case ast.While(test=test, body=body, orelse=otherwise) if self._asks(test, scope):
                yield from self._block([*body, *otherwise], guarded, scope)
            case ast.AST() if isinstance(node, TRIES):
                caught = guarded if any(catches(handler) for handler in node.handlers) else certainty
                if scope is not self._names.module and any(map(_explains, node.handlers)):
                    caught = min(caught, Certainty.CONDITIONAL)
                yield from self._block(node.body, caught, scope)
                for handler in node.handlers:
                    yield from self._block(handler.body, guarded, scope)
                yield from self._block(node.orelse, caught, scope)
                yield from self._block(node.finalbody, certainty, scope)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                yield from ((item, certainty) for item in items)
                suppressing = any(_SUPPRESSING.search(ast.unparse(item.context_expr)) for item in items)
                yield from self._block(body, guarded if suppressing else certainty, scope)
            case _ if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                protected = any(self._asks(expression, scope) for expression in node.decorator_list)
                if isinstance(node, ast.ClassDef):
                    protected = protected or any(map(_caps_a_version, _constructor(node)))
                statements = set(map(id, node.body))
                # Annotations may be texts that nobody evaluates.
                yield from (
                    (child, certainty)
                    for child in children(node)
                    if id(child) not in statements and _is_evaluated(child, node)
                )
                yield from self._block(node.body, guarded if protected else certainty, scope)
            case ast.Attribute():
                inner_node: ast.AST = node
                while isinstance(inner_node, ast.Attribute):
                    inner_node = inner_node.value
                yield inner_node, certainty  # of `a.b.c` the whole only
            case ast.AnnAssign(value=value):
                if value is not None:
                    yield value, certainty
            case ast.Module(body=body):
                yield from self._block(body, certainty, scope)

    def _block(
        self, statements: Sequence[ast.stmt], certainty: Certainty, scope: Scope
    ) -> Iterator[tuple[ast.AST, Certainty]]:
        """Statements in their order; behind a guarded `return` or `raise` all are guarded."""
        for statement in statements:
            yield statement, certainty
            match statement:
                case ast.If(test=test, body=body) if _leaves(body) and self._asks(test, scope):
                    certainty = Certainty.GUARDED
                case ast.Assert(test=test) if self._asks(test, scope):
                    certainty = Certainty.GUARDED
                case _ if _caps_a_version(statement):
                    certainty = Certainty.GUARDED

    def _behind(self, test: ast.expr, scope: Scope) -> Certainty:
        """How surely a branch is taken, and fails if it does."""
        if isinstance(test, ast.Constant):
            return Certainty.CERTAIN if test.value else Certainty.GUARDED
        if asks_for_main(test):
            return Certainty.GUARDED if self._names.is_imported else Certainty.CERTAIN
        return Certainty.GUARDED if self._asks(test, scope) else Certainty.CONDITIONAL

    def _asks(self, test: ast.expr, scope: Scope) -> bool:
        """Does a condition ask for a version or whether something is there, itself or by a name that it mentions?"""
        if test not in self._asking:
            self._asking[test] = self._is_asked(test, scope)
        return self._asking[test]

    def _is_asked(self, test: ast.expr, scope: Scope) -> bool:
        if _GUARD.search(ast.unparse(test)):
            return True
        mentioned = [node.id for node in nodes_in(test) if isinstance(node, ast.Name)]
        return any(_answers(answer) for name in mentioned for answer in self._bound(name, scope))

    def _bound(self, name: str, scope: Scope) -> Iterator[ast.AST | str]:
        """What a name is bound to, or a part of, here or in the module of the project that it comes from.

        The full name of what comes from elsewhere.
        """
        bound = self._names.bindings(name, scope)
        if bound is None:
            return
        yield from bound[1].unpacked.get(name, ())
        for binding in bound[0]:
            if isinstance(binding, ast.AST):
                yield binding
            elif isinstance(binding, Imported):
                found = None if self._names.modules is None else self._names.modules.find(binding.name)
                if found is None:
                    yield binding.name
                else:
                    inner = found[0].module.names.get(found[1], ())
                    yield from (imported for imported in inner if isinstance(imported, ast.AST))

    def _given(self, node: ast.AST, scope: Scope) -> Iterator[str]:
        """The names that a node puts into modules of others."""
        match node:
            case ast.Attribute(value=ast.Subscript() as owner, attr=name, ctx=ast.Store() | ast.Del()):
                module = module_by_name(owner)
                if module is not None:
                    yield f"{module}.{name}"
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield from self._names.resolve(node, scope)
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), *_]):
                module = module_by_name(owner)
                owners = self._names.resolve(owner, scope) if module is None else (module,)
                yield from (f"{owner}.{name}" for owner in owners)
            case ast.Subscript(ctx=ast.Store()):
                module = module_by_name(node)
                if module is not None:
                    yield module


def module_by_name(node: ast.AST) -> str | None:
    """The module of ``sys.modules["transformers.utils"]``."""
    match node:
        case ast.Subscript(value=value, slice=ast.Constant(value=str(name))) if ast.unparse(value) == "sys.modules":
            return name
    return None


def _called(call: ast.Call) -> Iterator[str]:
    """The names of what a call runs: its function, or one that it is given, as ``spawn(train)``."""
    for node in (call.func, *call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield node.id if isinstance(node, ast.Name) else node.attr


def _answers(node: ast.AST | str) -> bool:
    """Does a value, the body of a function or a function elsewhere ask for a version or whether something is there?"""
    if isinstance(node, str):
        return _ANSWERING.search(node) is not None
    if isinstance(node, _FUNCTIONS):
        return _ASKING.search(ast.unparse(node)) is not None
    return isinstance(node, ast.expr) and _GUARD.search(ast.unparse(node)) is not None


def _imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    module = "." * node.level + (node.module or "")
    dot = "" if module.endswith(".") else "."
    yield module
    yield from (f"{module}{dot}{alias.name}" for alias in node.names if alias.name != "*")


def _is_evaluated(child: ast.AST, node: ast.AST) -> bool:
    return child is not getattr(node, "returns", None) and not isinstance(child, ast.arguments)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    last = body[-1]
    is_exit = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and "exit" in ast.unparse(last.value.func)
    return isinstance(last, LEAVING) or is_exit


def catches(handler: ast.ExceptHandler) -> bool:
    """Does it catch what a missing name raises, and go on?"""
    if handler.body and _leaves(handler.body) and not isinstance(handler.body[-1], (ast.Return, ast.Continue)):
        return isinstance(handler.body[-1], ast.Break)
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    # An exception that is not known here may be one of these.
    named = [kind.id if isinstance(kind, ast.Name) else getattr(kind, "attr", "") for kind in kinds]
    return any(name in _CAUGHT or not name.endswith("Error") for name in named)


def _explains(handler: ast.ExceptHandler) -> bool:
    """Does it end what failed with words of its own? In a function that is what an optional feature does."""
    match handler.body:
        case [*_, ast.Raise(exc=ast.Call())]:
            return handler.type is not None
    return False


def _constructor(node: ast.ClassDef) -> Sequence[ast.stmt]:
    return next((one.body for one in node.body if isinstance(one, _FUNCTIONS) and one.name == "__init__"), ())


def _caps_a_version(statement: ast.stmt) -> bool:
    """Does it end the program with every release that is too new, as ``require_version("trl<=0.9.6")``?"""
    if isinstance(statement, TRIES):
        return not any(map(catches, statement.handlers)) and any(map(_caps_a_version, statement.body))
    match statement:
        case ast.Expr(value=ast.Call(func=called, args=[ast.Constant(value=str(requirement)), *_])):
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            return _REQUIRING.search(name) is not None and _CAPPED.match(requirement) is not None
    return False


def _uses_of(node: ast.AST, scope: Scope, names: Names) -> Iterator[_Use]:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                if is_elsewhere(alias.name, names):
                    yield "import", alias.name, None, None, node
        case ast.ImportFrom(module=str(module), level=0, names=aliases):
            for alias in aliases:
                if is_elsewhere(module, names):
                    yield "import", module, None if alias.name == "*" else alias.name, None, alias
        case ast.Call(func=called, args=arguments, keywords=[_, *_]):
            # `functools.partial(Trainer, tokenizer=…)` hands them on, whenever that is called.
            is_partial = bool(arguments) and names.resolve(called, scope) == ("functools.partial",)
            callee = called_by(arguments[0] if is_partial else called, scope, names)
            if callee is not None:
                root, _, rest = callee.name.partition(".")
                given = keywords_of(node, scope, names)
                yield from (("keyword", root, rest, name, at) for name, at in given if name not in callee.own)
        case ast.Attribute(ctx=ast.Load()):
            full = full_name(node, scope, names)
            if full is not None:
                root, _, rest = full.partition(".")
                yield "attribute", root, rest, None, node
