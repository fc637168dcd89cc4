"""What the names of a program stand for: imports and aliases, literals that are bound once, and the types of objects.

Nothing is run, so only what can be read off is known: a name that is bound twice to different things, a parameter, the
variable of a loop stand for nothing.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from math import isfinite
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

from gradcompat.model.environment import Location
from gradcompat.scanners.code.last_bindings import last_bindings, last_set
from gradcompat.scanners.code.regions import Region, around
from gradcompat.scanners.code.syntax import argument_of, nodes_in
from gradcompat.scanners.code.syntax import children as children_of
from gradcompat.scanners.configs.training_arguments import OPTIMIZER_MEMBERS
from gradcompat.startup.lazy_dataclasses import dataclass, field

# What is not a literal. None is one.
UNKNOWN: Final = object()

_Node = TypeVar("_Node", bound=ast.AST)

_BUILTINS = frozenset(dir(builtins))

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)
# Whatever may bind a name, an attribute or an item; most nodes bind none.
_BINDING = frozenset(
    {
        *(ast.Attribute, ast.Subscript),
        *(*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Call),
        *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.Delete, ast.For, ast.AsyncFor),
        *(ast.comprehension, ast.withitem, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping),
    }
)
_PLAIN = frozenset({ast.Name, ast.Constant})  # which bind nothing and hold nothing
# The methods of parsers that return the options of a command line.
PARSING = frozenset({"parse_args", "parse_known_args", "parse_args_into_dataclasses", "parse_args_and_config"})
_DTYPES = {"torch.float": "float32", "torch.half": "float16", "torch.double": "float64"}
_NUMBERS = frozenset({"float", "bfloat", "int", "uint", "half", "double"})  # names of dtypes, without their bits
_ENUMERATING = frozenset({"torch", "transformers", "trl", "peft", "accelerate", "lightning", "pytorch_lightning"})
_OF_BINDING = 2  # steps from a name through `data.map(…)` to the name in it
_WRAPPERS = ("DataParallel", "FullyShardedDataParallel")
_MAX_ALIASES = 8
_MAX_BINDINGS = 20
_MAX_ELEMENTS = 1000
_LARGEST = 1e15
_LONGEST = 1000
CONVERTING: Mapping[str, Callable[..., Any]] = {"int": int, "float": float, "str": str, "max": max, "min": min}
# What these make of an object is of its own kind again.
_SAME = frozenset(
    {
        *("to", "cuda", "cpu", "half", "float", "bfloat16", "train", "eval", "requires_grad_"),
        *("filter", "map", "shuffle", "select", "take", "skip", "with_format", "cast"),
        *("remove_columns", "select_columns", "rename_column", "rename_columns"),
    }
)


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that an import binds: ``transformers.Adafactor``; of relative imports with their dots."""

    name: str


Binding = Imported | ast.AST | None


@dataclass(slots=True, eq=False)
class Scope:
    """The names that a module, a class, a function or a comprehension binds, with everything they are bound to.

    ``parsed`` are those of them that get the options of a command line, one of several objects that a parser returns,
    each with its place among them, which is None where it cannot be counted.
    ``unpacked`` are the expressions of which a name gets a part: ``major, minor = numbers(torch.__version__)``.
    ``grown`` are those that a list of this name gets appended, and ``filled`` the keys and values that a mapping of
    this name gets by statements; of one whose keys are not written out the key is None. ``reordered`` are the names of
    which a list is sorted or reversed in its place.
    """

    node: ast.AST
    parent: Scope | None
    names: dict[str, list[Binding]] = field(default_factory=dict)
    attributes: dict[str, list[Binding]] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    parsed: dict[str, int | None] = field(default_factory=dict)
    unpacked: dict[str, list[ast.expr]] = field(default_factory=dict)
    grown: dict[str, list[ast.expr]] = field(default_factory=dict)
    filled: dict[str, list[tuple[str | None, ast.expr]]] = field(default_factory=dict)
    reordered: set[str] = field(default_factory=set)

    @property
    def around_class(self) -> Scope | None:
        """The innermost class that it is or stands in."""
        within: Scope | None = self
        while within is not None and not isinstance(within.node, ast.ClassDef):
            within = within.parent
        return within


class Source(NamedTuple):
    """The expression that something has its value from.

    Attributes:
        node: the expression.
        names: those of the module that it stands in.
        scope: the names that hold there.
        spelling: how it is written, with ``{}`` for the value; None where only the value stands there.
    """

    node: ast.expr
    names: Names
    scope: Scope
    spelling: str | None


class Changes(NamedTuple):
    """What statements of a file set, whatever they set it in.

    Attributes:
        keys: the items that are set by a key which is written out.
        mappings: the names of mappings of which any item may be set, each with the scope that it is used in.
        updates: the keys that ``update()`` gives, with such names.
        attributes: the attributes that are set, but for those of ``self``.
        any_attribute: ``setattr`` sets one whose name is not written out.
        handed: the names of what is handed to functions that may set something in it: ``update_config(config)``.
    """

    keys: frozenset[str]
    mappings: Sequence[tuple[str, Scope]]
    updates: Mapping[str, Sequence[tuple[str, Scope]]]
    attributes: frozenset[str]
    any_attribute: bool
    handed: frozenset[str]


class Modules(Protocol):
    """The modules of a project, as one of its files sees them."""

    def find(self, name: str) -> tuple[Names, str] | None:
        """The names of the module that a full name leads into, and the rest of the name; None if it is elsewhere's."""

    def has_copy(self, top: str) -> bool:
        """Has the project a module of this name where this file may import it from, in place of an installed one?"""

    def place(self) -> Callable[[ast.AST], Location] | None:
        """Where the nodes of this file stand; None if it is no module that was read."""


def named_module(node: ast.AST | None) -> str | None:
    """The module that ``importlib.import_module("datasets")`` imports; None for another expression."""
    match node:
        case ast.Call(
            func=ast.Name(id="import_module") | ast.Attribute(value=ast.Name(id="importlib"), attr="import_module"),
            args=[ast.Constant(value=str(module))],
            keywords=[],
        ) if not module.startswith("."):
            return module
    return None


class Names:
    """The names of one program.

    Args:
        tree: the program.
        modules: the modules of its project, into which names are followed.
        imported: it is a module that a program imports, whose `if __name__ == "__main__"` is never entered.
    """

    def __init__(self, tree: ast.Module, modules: Modules | None = None, *, imported: bool = False) -> None:
        self.modules = modules
        self.is_imported = imported
        self.imports: dict[str, int] = {}  # every name that is imported, in full, with the line
        self.module = Scope(tree, None)
        self.scopes: dict[ast.AST, Scope] = {tree: self.module}
        self.stars: list[tuple[str, int]] = []
        self.relative: dict[str, int] = {}  # what is imported from the project itself, with the line
        self.imported: dict[str, int] = {}  # the first part of every other import
        self.rewritten = False
        self.commands: dict[ast.AST, Mapping[str, Any]] = {}  # functions whose parameters are options, with these
        self.parses: dict[ast.AST, bool] = {}  # functions, and whether they return what a parser has parsed
        # The functions and classes of an imported module that its program calls in one place, with this and its names.
        self.only_calls: Mapping[ast.AST, tuple[ast.Call, Names]] = {}
        self.returns: dict[ast.AST, ast.expr | None] = {}  # functions, and what they return on their only way out
        self.changes: Changes | None = None  # what it sets; None until somebody asks
        self.has: dict[Callable[[str], object], bool] = {}  # what was looked for in its text
        self.regions: tuple[Region, ...] | None = None  # what some releases alone reach; None until somebody asks
        self.fallbacks: tuple[Region, ...] | None = None  # what it can do without
        self.ungraded: tuple[Region, ...] | None = None  # where gradients are off
        self.spoken: Counter[str] | None = None  # how often it speaks of what may be a method of the project
        self.stores: list[ast.Attribute | ast.Subscript | ast.Call] = []  # what sets an attribute or an item
        # What was found out about a name, and what is being found out: a name that is made of itself says nothing.
        self._expressions: dict[ast.AST, tuple[str, ...]] = {}
        self._imports: dict[tuple[Scope, str], tuple[str, ...]] = {}
        self._types: dict[tuple[Scope, str], tuple[str, ...]] = {}
        self._types_at: dict[ast.expr, tuple[str, ...]] = {}
        self._attributes: dict[tuple[Scope, str], tuple[str, ...]] = {}
        self._literals: dict[tuple[Scope, str], Any] = {}
        self._top: dict[str, list[tuple[Names, Binding]]] = {}
        self._by_kind: dict[type[ast.AST], list[ast.AST]] = {}  # every node; none until somebody asks
        self._collect(tree)
        for scope in list(self.scopes.values()):
            for name in scope.declared:
                self.module.names.setdefault(name, []).extend([*scope.names.pop(name, []), None])

    @cached_property
    def imported_as(self) -> Mapping[str, frozenset[str]]:
        """Each name that an import binds, in functions too, with all the full names that it may stand for."""
        found: dict[str, set[str]] = {}
        for scope in self.scopes.values():
            for name, bindings in scope.names.items():
                for binding in bindings:
                    if isinstance(binding, Imported):
                        found.setdefault(name, set()).add(binding.name)
        return {name: frozenset(fulls) for name, fulls in found.items()}

    @cached_property
    def renamed(self) -> frozenset[str]:
        """The last parts of what is imported by another name: ``build`` of ``from models import build as make``."""
        found = ((name, full.rpartition(".")[2]) for name, fulls in self.imported_as.items() for full in fulls)
        return frozenset(last for name, last in found if last != name)

    @cached_property
    def calls_by_name(self) -> Mapping[str, Sequence[ast.Call]]:
        """The calls of plain names in the file, by these."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.nodes(ast.Call):
            if isinstance(call.func, ast.Name):
                found.setdefault(call.func.id, []).append(call)
        return found

    @cached_property
    def reads(self) -> Mapping[str, int]:
        """How often the file reads each plain name."""
        return Counter(node.id for node in self.nodes(ast.Name) if isinstance(node.ctx, ast.Load))

    def nodes(self, kind: type[_Node]) -> Sequence[_Node]:
        """Every node of one kind in the file, breadth first: detectors that look at whole files share one walk."""
        if not self._by_kind:
            for node in nodes_in(self.module.node):
                self._by_kind.setdefault(type(node), []).append(node)
        return cast("Sequence[_Node]", self._by_kind.get(kind, ()))

    def scope_of(self, node: ast.AST) -> Scope:
        """The innermost function that a node stands in, by its lines."""
        return self._functions.get(getattr(node, "lineno", 0), self.module)

    @cached_property
    def _functions(self) -> Mapping[int, Scope]:
        """The innermost function of each line that stands in one."""
        functions = [(one, scope) for one, scope in self.scopes.items() if isinstance(one, ast.FunctionDef)]
        found: dict[int, Scope] = {}
        for function, scope in sorted(functions, key=lambda one: one[0].lineno):
            found.update(dict.fromkeys(range(function.lineno, (function.end_lineno or 0) + 1), scope))
        return found

    def as_program(self) -> Names:
        """The names of the same file where it is run itself, and its own calls say what parameters are."""
        own = self._anew()
        own.is_imported = False
        if own.regions:  # a program is followed to what it calls
            own.regions = None
        return own

    def handed(self, calls: Mapping[ast.AST, tuple[ast.Call, Names]]) -> Names:
        """The names of the same module where a program calls some of its functions and classes in one place each."""
        own = self._anew()
        own.only_calls = calls
        return own

    def _anew(self) -> Names:
        """The same names, of which nothing is found out yet."""
        own = copy(self)
        own._expressions, own._imports, own._attributes, own._literals = {}, {}, {}, {}
        own._types, own._types_at = {}, {}
        return own

    # Collecting

    def _collect(self, tree: ast.Module) -> None:
        waiting: list[tuple[ast.AST, Scope]] = [(tree, self.module)]
        while waiting:
            node, scope = waiting.pop()
            inner = scope
            if isinstance(node, _SCOPES):
                inner = self.scopes[node] = Scope(node, scope)
                waiting += [(child, scope) for child in _outer_parts(node)]
                children = _inner_parts(node)
            else:
                children = children_of(node)
            if type(node) in _BINDING:
                self._bind(node, scope, inner)
            waiting += [(child, inner) for child in children if type(child) not in _PLAIN]

    def _bind(self, node: ast.AST, scope: Scope, inner: Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value, scope)
                    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                        scope.filled.setdefault(target.value.id, []).append((_key(target.slice), value))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, value, scope)
            case ast.AugAssign(target=target):
                self._assign(target, None, scope)
            case ast.NamedExpr(target=target, value=value):
                while isinstance(scope.node, _COMPREHENSIONS) and scope.parent is not None:
                    scope = scope.parent
                self._assign(target, value, scope)
            case ast.For(target=target) | ast.AsyncFor(target=target) | ast.comprehension(target=target):
                self._assign(target, None, scope)
            case ast.withitem(optional_vars=target) if target is not None:
                self._assign(target, None, scope)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._assign(target, None, scope)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                scope.names.setdefault(name, []).append(None)
            case ast.MatchMapping(rest=str(name)):
                scope.names.setdefault(name, []).append(None)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                scope.declared.update(names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                scope.names.setdefault(name, []).append(node)
            case ast.Import(names=names):
                for alias in names:
                    self.imports.setdefault(alias.name, node.lineno)
                    self.imported.setdefault(alias.name.partition(".")[0], node.lineno)
                    if alias.asname is None:
                        root = alias.name.partition(".")[0]
                        scope.names.setdefault(root, []).append(Imported(root))
                    else:
                        scope.names.setdefault(alias.asname, []).append(Imported(alias.name))
            case ast.ImportFrom():
                self._import_from(node, scope)
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store()):
                self.stores.append(node)
            case ast.Call(lineno=line) if (module := named_module(node)) is not None:
                self.imports.setdefault(module, line)
                self.imported.setdefault(module.partition(".")[0], line)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[element]):
                scope.grown.setdefault(name, []).append(element)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="sort" | "reverse"), args=[]):
                scope.reordered.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=args, keywords=words):
                filled = scope.filled.setdefault(name, [])
                for other in args:
                    keys = other.keys if isinstance(other, ast.Dict) else [None]
                    values = other.values if isinstance(other, ast.Dict) else [other]
                    filled += [(_key(key), value) for key, value in zip(keys, values, strict=True)]
                filled += [(word.arg, word.value) for word in words]
            case ast.Call(func=ast.Name(id="setattr")):
                self.stores.append(node)
            case (
                ast.Call(func=ast.Name(id="exec" | "globals" | "locals"))
                | ast.Call(
                    func=ast.Name(id="vars"),
                    args=[],  # that of an object, `vars(args)`, is another mapping
                )
            ):
                self.rewritten = True  # any name may get another value
        if isinstance(node, _FUNCTIONS):
            given = node.args
            for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if argument is not None:
                    inner.names.setdefault(argument.arg, []).append(None)

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = "." * node.level + (node.module or "")
        if node.level:
            self.relative.setdefault(module, node.lineno)
        else:
            self.imported.setdefault(module.partition(".")[0], node.lineno)
        self.imports.setdefault(module, node.lineno)
        for alias in node.names:
            if alias.name == "*":
                self.stars.append((module, node.lineno))
                continue
            dot = "" if module.endswith(".") else "."
            self.imports.setdefault(f"{module}{dot}{alias.name}", node.lineno)
            scope.names.setdefault(alias.asname or alias.name, []).append(Imported(f"{module}{dot}{alias.name}"))

    def _assign(self, target: ast.expr, value: ast.expr | None, scope: Scope) -> None:
        waiting: list[tuple[ast.expr, ast.expr | None]] = [(target, value)]
        while waiting:
            target, value = waiting.pop()
            match target:
                case ast.Name(id=name):
                    module = named_module(value)
                    scope.names.setdefault(name, []).append(value if module is None else Imported(module))
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if scope.parent is not None:
                    owner = scope.parent
                    if isinstance(owner.node, ast.ClassDef):
                        owner.attributes.setdefault(name, []).append(value)
                case ast.Starred(value=inner):
                    waiting.append((inner, None))
                case ast.Tuple(elts=elements) | ast.List(elts=elements):
                    if (
                        isinstance(value, ast.Call)
                        and isinstance(value.func, ast.Attribute)
                        and value.func.attr in PARSING
                    ):
                        counted = not any(isinstance(element, ast.Starred) for element in elements)
                        for place, element in enumerate(elements):
                            if isinstance(element, ast.Name):
                                scope.parsed[element.id] = place if counted else None
                    values: list[ast.expr | None] = [None] * len(elements)
                    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(elements):
                        plain = not any(isinstance(element, ast.Starred) for element in (*elements, *value.elts))
                        values = list(value.elts) if plain else values
                    elif value is not None:
                        for element in elements:
                            if isinstance(element, ast.Name):
                                scope.unpacked.setdefault(element.id, []).append(value)
                    waiting.extend(zip(elements, values, strict=True))

    # What a program keeps in objects of its own

    def source_of(self, _node: ast.AST, _scope: Scope) -> Source | None:
        """What an item, an attribute or a parameter has its value from; here of none."""
        return None

    def returned(self, _call: ast.Call, _scope: Scope) -> Source | None:
        """What a function of the project returns; here of none."""
        return None

    # Looking up

    def bindings(self, name: str, scope: Scope) -> tuple[list[Binding], Scope] | None:
        """What a name is bound to where it is used, and the scope that binds it; None if nothing binds it."""
        found: Scope | None = scope
        while found is not None:
            visible = found is scope or not isinstance(found.node, ast.ClassDef)
            if visible and name in found.names:
                return found.names[name], found
            found = found.parent
        return None

    def bound_once(self, name: str, scope: Scope) -> tuple[ast.expr, Scope] | None:
        """The one expression that a name is bound to, and the scope that binds it; None if it is anything else."""
        found = self.bindings(name, scope)
        only = found[0][0] if found is not None and len(found[0]) == 1 else None
        return (only, found[1]) if found is not None and isinstance(only, ast.expr) else None

    def resolve(self, node: ast.AST, scope: Scope, depth: int = 0) -> tuple[str, ...]:
        """The full names that an expression may stand for: ``torch.nn.functional.rrelu`` for ``F.rrelu``.

        A method of an object of known type is that of its class: ``accelerate.Accelerator.accumulate``. More than one
        if a name is imported from several places; none if it is not known.
        """
        if depth:
            return self._outside(self._resolved(node, scope, depth), depth)
        if node not in self._expressions:
            self._expressions[node] = self._outside(self._resolved(node, scope, depth), depth)
        return self._expressions[node]

    def _outside(self, names: tuple[str, ...], depth: int) -> tuple[str, ...]:
        """Full names, with those of the project's own modules followed to what these import."""
        if self.modules is None or not names:
            return names
        return tuple(dict.fromkeys(one for name in names for one in self._followed(name, depth)))

    def _followed(self, name: str, depth: int) -> Iterator[str]:
        """The names outside of the project that a full name leads to; modules that import each other are met once."""
        met = {(self, name): depth}
        waiting = [(self, name)]
        for names, full in waiting:
            further = met[names, full] + 1
            if further > _MAX_ALIASES:
                continue
            found = None if names.modules is None else names.modules.find(full)
            if found is None:
                yield full
                continue
            for owner, binding, ending in found[0]._exported(found[1]):
                others = [(owner, f"{other}{ending}") for other in owner._other_names(binding, further)]
                waiting += [other for other in others if other not in met]
                met = dict.fromkeys(others, further) | met

    def _other_names(self, binding: Binding, depth: int) -> tuple[str, ...]:
        """What something at the top of this module is another name of."""
        if isinstance(binding, Imported):
            return (binding.name,)
        return self._resolved(binding, self.module, depth) if isinstance(binding, (ast.Name, ast.Attribute)) else ()

    def exported(self, node: ast.AST, scope: Scope) -> tuple[Names, ast.expr] | None:
        """What another module of the project binds a name to that an expression names, if it binds it once."""
        found: list[tuple[Names, ast.expr]] = []
        for name in self._resolved(node, scope, 1) if self.modules is not None else ():
            owner, full = self, name
            for _ in range(_MAX_ALIASES):
                inner = None if owner.modules is None else owner.modules.find(full)
                bound = inner[0]._exported(inner[1]) if inner is not None and inner[1] else []
                if len(bound) != 1 or bound[0][2]:
                    break
                owner, binding = bound[0][0], bound[0][1]
                if isinstance(binding, Imported):
                    full = binding.name
                    continue
                if isinstance(binding, ast.expr) and not owner.rewritten:
                    found.append((owner, binding))
                break
        return found[0] if len(found) == 1 else None

    def _exported(self, rest: str) -> list[tuple[Names, Binding, str]]:
        """What the first part of a dotted name is bound to at the top of this module, and what stands behind it."""
        first, dot, behind = rest.partition(".")
        if first not in self._top:
            self._top[first] = self._bound_at_top(first)
        return [(owner, binding, f"{dot}{behind}") for owner, binding in self._top[first]]

    def _bound_at_top(self, name: str) -> list[tuple[Names, Binding]]:
        """The same for one name, by this module or by those of which it takes every name."""
        found: list[tuple[Names, Binding]] = []
        waiting = [self]
        met = {id(self)}
        for owner in waiting:
            bound = owner.module.names.get(name)
            if bound is not None:
                found += [(owner, binding) for binding in bound[:_MAX_BINDINGS]]
                continue
            for module, _ in owner.stars if name else []:
                inner = None if owner.modules is None else owner.modules.find(module)
                if inner is None:
                    found.append((owner, Imported(f"{module}{'' if module.endswith('.') else '.'}{name}")))
                elif not inner[1] and id(inner[0]) not in met:
                    met.add(id(inner[0]))
                    waiting.append(inner[0])
        return found

    def definition(
        self, node: ast.AST, scope: Scope, depth: int = 0
    ) -> tuple[Names, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, Scope] | None:
        """The class or function of the project that an expression names, with the names that hold there."""
        if depth >= _MAX_ALIASES:
            return None
        if isinstance(node, ast.Name):
            found = self.bindings(node.id, scope)
            for binding in found[0] if found else []:
                if found and isinstance(binding, _DEFINITIONS):
                    return self, binding, found[1]
        if self.modules is None or not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        for name in self._resolved(node, scope, depth):
            defined = self._defined(name, depth)
            if defined is not None:
                return defined
        return None

    def _defined(
        self, name: str, depth: int
    ) -> tuple[Names, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, Scope] | None:
        met = {(self, name): depth}
        waiting = [(self, name)]
        for names, full in waiting:
            further = met[names, full] + 1
            found = None if names.modules is None or further > _MAX_ALIASES else names.modules.find(full)
            for owner, binding, ending in found[0]._exported(found[1]) if found is not None else []:
                if ending and not isinstance(binding, Imported):
                    continue
                aliased = owner.module.names.get(binding.id, ()) if isinstance(binding, ast.Name) else ()
                for one in (binding, *aliased):
                    if isinstance(one, _DEFINITIONS):
                        return owner, one, owner.module
                others = [(owner, f"{other}{ending}") for other in owner._other_names(binding, further)]
                waiting += [other for other in others if other not in met]
                met = dict.fromkeys(others, further) | met
        return None

    def _resolved(self, node: ast.AST, scope: Scope, depth: int) -> tuple[str, ...]:
        parts: list[str] = []
        inner = node
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            inner, node = node, node.value
        ending = "".join(f".{part}" for part in reversed(parts))
        if isinstance(node, ast.Name):
            if node.id == "self" and isinstance(inner, ast.Attribute):
                made = self._attribute_type(inner, scope, depth)
                tail = "".join(f".{part}" for part in reversed(parts[:-1]))
                return tuple(f"{one}{tail}" for one in made) if tail else ()
            found = self.bindings(node.id, scope)
            if found is None:
                return self._unbound(node.id, ending)
            names = self._meanings(node.id, *found, depth)
            if names:
                return tuple(f"{name}{ending}" for name in names)
        elif (module := named_module(node)) is not None:
            return (f"{module}{ending}",)
        elif (chosen := self._chosen(node, scope, depth)) is not None:
            return tuple(f"{owner}.{chosen[1]}{ending}" for owner in self.resolve(chosen[0], scope, depth + 1))
        elif isinstance(node, ast.Subscript) and depth < _MAX_ALIASES:
            source = self.source_of(node, scope)  # a table of classes: `MODELS["t5"].from_pretrained`
            if source is not None:
                return tuple(f"{one}{ending}" for one in source.names.resolve(source.node, source.scope, depth + 1))
        if not ending or depth >= _MAX_ALIASES:
            return ()
        if parts[-1] == "dataset" and len(parts) > 1:  # `loader.dataset.set_epoch(epoch)`
            tail = "".join(f".{part}" for part in reversed(parts[:-1]))
            rows = tuple(f"{one}{tail}" for one in self._drawn_from(node, scope, depth + 1))
            if rows:
                return rows
        return tuple(f"{one}{ending}" for one in self.type_of(node, scope, depth + 1))

    def _drawn_from(self, loader: ast.AST, scope: Scope, depth: int) -> tuple[str, ...]:
        """The type of the data of a loader, as far as they are of the package datasets."""
        source: Source | None = Source(cast("ast.expr", loader), self, scope, None)
        while source is not None and depth < _MAX_ALIASES:
            depth += 1
            node, names, within = source.node, source.names, source.scope
            if isinstance(node, ast.Name):
                bound = names.bound_once(node.id, within)
                source = None if bound is None else Source(bound[0], names, bound[1], None)
            elif isinstance(node, ast.Call):
                if any(one.endswith("DataLoader") for one in names.resolve(node.func, within, depth)):
                    data = argument_of(node, "dataset", 0)
                    kinds = () if data is None else names.type_of(data, within, depth)
                    return tuple(kind for kind in kinds if kind.startswith("datasets."))
                source = names.returned(node, within)
            else:
                source = None
        return ()

    def _chosen(self, node: ast.AST, scope: Scope, depth: int) -> tuple[ast.expr, str] | None:
        """The object and the attribute of ``getattr(torch.optim, "AdamW")``."""
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, name], keywords=[]) if depth < _MAX_ALIASES:
                attribute = self.literal(name, scope, depth + 1)
                return (owner, attribute) if isinstance(attribute, str) and attribute.isidentifier() else None
        return None

    def _meanings(self, name: str, bindings: list[Binding], scope: Scope, depth: int) -> tuple[str, ...]:
        """What a name is imported as, or is another name for."""
        key = (scope, name)
        if key not in self._imports:
            self._imports[key] = ()
            names: list[str] = []
            for binding in bindings[:_MAX_BINDINGS]:
                if isinstance(binding, Imported):
                    names.append(binding.name)
                elif isinstance(binding, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) and depth < _MAX_ALIASES:
                    names.extend(self.resolve(binding, scope, depth + 1))
                    source = self.returned(binding, scope) if isinstance(binding, ast.Call) else None
                    if source is not None and isinstance(source.node, (ast.Name, ast.Attribute)):  # a class
                        names.extend(source.names.resolve(source.node, source.scope, depth + 1))
            self._imports[key] = tuple(dict.fromkeys(names))
        return self._imports[key]

    def _unbound(self, name: str, ending: str) -> tuple[str, ...]:
        """A name that nothing binds comes from the one `import *`, or from a cell that is not here."""
        if name in _BUILTINS:
            return ()
        for module, _ in self.stars if self.modules is not None and len(self.stars) > 1 else []:
            found = self.modules.find(module) if self.modules is not None else None
            if found is not None and not found[1] and name in found[0].module.names:
                return (f"{module}{'' if module.endswith('.') else '.'}{name}{ending}",)
        if len(self.stars) == 1:
            module = self.stars[0][0]
            return (f"{module}{'' if module.endswith('.') else '.'}{name}{ending}",)
        return (f"{name}{ending}",)

    def type_of(self, node: ast.AST | None, scope: Scope, depth: int = 0) -> tuple[str, ...]:
        """The class of the object that an expression makes, by its full name; none if that cannot be read off."""
        while depth < _MAX_ALIASES:
            depth += 1
            match node:
                case ast.Await(value=inner) | ast.Subscript(value=inner):
                    node = inner
                case ast.Call(func=ast.Attribute(attr="to_iterable_dataset")):
                    return ("datasets.IterableDataset",)
                case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _SAME:
                    made = self.type_of(inner, scope, depth)
                    if made:
                        return made
                    return ()
                case ast.Call(func=called):
                    return self._made(node, called, scope, depth)
                case ast.Name(id=name):
                    found = self.bindings(name, scope)
                    if found is None:
                        return ()
                    return self._since_bound(node, *found, scope, depth) or self._agreed(name, *found, depth)
                case ast.Attribute(value=ast.Name(id="self")):
                    return self._attribute_type(node, scope, depth)
                case _:
                    return ()
        return ()

    def _made(self, call: ast.Call, called: ast.expr, scope: Scope, depth: int) -> tuple[str, ...]:
        made: list[str] = []
        for name in self.resolve(called, scope, depth) or tuple(self.bases(called, scope)):
            head, _, last = name.rpartition(".")
            if name == "datasets.load_dataset":
                streamed = any(word.arg == "streaming" and not _is_false(word.value) for word in call.keywords)
                made.append("datasets.IterableDataset" if streamed else "datasets.Dataset")
            elif last == "load_from_disk" and head in ("datasets", "datasets.Dataset", "datasets.DatasetDict"):
                made.append("datasets.Dataset")
            elif last == "get_peft_model":
                made.append("peft.PeftModel")
            elif last == "split_dataset_by_node" and head.startswith("datasets") and call.args:
                made.extend(self.type_of(call.args[0], scope, depth))
            elif last[:1].isupper():
                made.append(name)
            elif last.startswith("from_") and head.rpartition(".")[2][:1].isupper():
                made.append(head)
        if made or depth >= _MAX_ALIASES:
            return tuple(made)
        source = self.returned(call, scope)
        return () if source is None else source.names.type_of(source.node, source.scope, depth + 1)

    def _since_bound(
        self, node: ast.Name, bindings: list[Binding], owner: Scope, scope: Scope, depth: int
    ) -> tuple[str, ...]:
        """The type of a name by what it is bound to last; none where several ways lead to its use."""
        while isinstance(scope.node, _COMPREHENSIONS) and scope.parent is not None:
            scope = scope.parent
        values = [one for one in bindings if isinstance(one, ast.expr)]
        if scope is not owner or len(bindings) < 2 or not hasattr(node, "lineno"):
            return ()
        if len(values) + _is_parameter(node.id, owner.node) < len(bindings):
            return ()  # the variable of a loop and the like may be bound anywhere
        if node not in self._types_at:
            self._types_at[node] = ()
            last = last_bindings(values[:_MAX_BINDINGS], node, owner.node)
            # Each is further above, so that this ends uncounted: `data = data.map(…)` may stand there many times.
            kinds = {self.type_of(one, owner, max(depth - _OF_BINDING, 0)) for one in last}
            kinds = {kind for kind in kinds if kind and not any(map(_is_wrapper, kind))}
            self._types_at[node] = kinds.pop() if len(kinds) == 1 else ()
        return self._types_at[node]

    def _agreed(self, name: str, bindings: list[Binding], scope: Scope, depth: int) -> tuple[str, ...]:
        """The type of a name that is bound to things of one type only."""
        key = (scope, name)
        if key not in self._types:
            self._types[key] = ()
            if bindings == [None]:
                self._types[key] = self._parameter_type(name, scope, depth)
                return self._types[key]
            # `data = load_dataset(…)`, `data = data.map(…)`: what is made of itself says nothing new.
            kinds = {
                self.type_of(binding, scope, depth) if isinstance(binding, ast.AST) else ()
                for binding in bindings[:_MAX_BINDINGS]
            }
            kinds.discard(())
            self._types[key] = kinds.pop() if len(kinds) == 1 else ()
        return self._types[key]

    def _parameter_type(self, name: str, scope: Scope, depth: int) -> tuple[str, ...]:
        """The type of a parameter: what the one call of the function gives for it, or else as it is annotated."""
        source = self.source_of(ast.Name(name, ast.Load()), scope)
        made = () if source is None else source.names.type_of(source.node, source.scope, depth)
        if made or not isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)) or scope.parent is None:
            return made
        parameters = scope.node.args
        ordered = (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)
        annotation = next((one.annotation for one in ordered if one.arg == name), None)
        if not isinstance(annotation, (ast.Name, ast.Attribute)):
            return ()
        kinds = self.resolve(annotation, scope.parent, depth + 1)
        return tuple(kind for kind in kinds if kind.partition(".")[0] not in sys.stdlib_module_names)  # typing.Any

    def _attribute_type(self, node: ast.Attribute, scope: Scope, depth: int) -> tuple[str, ...]:
        """The type of ``self.model``, from where a method of the class sets it."""
        within = scope.around_class
        if within is None or depth >= _MAX_ALIASES:
            return ()
        key = (within, node.attr)
        if key in self._attributes:
            return self._attributes[key] or self._attribute_type_at(node, within, depth)
        self._attributes[key] = ()
        values = within.attributes.get(node.attr, [])
        # They are set in methods, whose own names are mostly parameters.
        methods = [self.scopes[child] for child in getattr(within.node, "body", []) if child in self.scopes]
        kinds = {
            kind
            for value in values[:_MAX_BINDINGS]
            for method in methods[:_MAX_BINDINGS]
            if isinstance(value, ast.AST) and (kind := self.type_of(value, method, depth + 1))
        }
        self._attributes[key] = kinds.pop() if len(kinds) == 1 else ()
        return self._attributes[key] or self._attribute_type_at(node, within, depth)

    def _attribute_type_at(self, node: ast.Attribute, within: Scope, depth: int) -> tuple[str, ...]:
        """The type of an attribute by what the one method that sets it has set last."""
        bindings = within.attributes.get(node.attr, [])
        values = [one for one in bindings if isinstance(one, ast.expr)]
        if not 2 <= len(values) == len(bindings) <= _MAX_BINDINGS or not hasattr(node, "lineno"):
            return ()
        methods = (one for one in getattr(within.node, "body", []) if isinstance(one, ast.FunctionDef))
        setting = [one for one in methods if any(around([one]).holds(value) for value in values)]
        if len(setting) == 1 and node not in self._types_at:
            self._types_at[node] = ()
            here = around(setting).holds(node)
            last = last_bindings(values, node, setting[0]) if here else last_set(values, setting[0].body)
            kinds = {self.type_of(one, self.scopes[setting[0]], max(depth - _OF_BINDING, 0)) for one in last}
            kinds = {kind for kind in kinds if kind and not any(map(_is_wrapper, kind))}
            self._types_at[node] = kinds.pop() if len(kinds) == 1 else ()
        return self._types_at.get(node, ())

    def bases(self, node: ast.AST, scope: Scope, depth: int = 0) -> Iterator[str]:
        """The full names of what a class of the project is derived from, if the expression names one."""
        found = self.definition(node, scope, depth)
        if found is None or not isinstance(found[1], ast.ClassDef):
            return
        owner, defined, within = found[0], found[1], found[2]
        for base in defined.bases[:_MAX_BINDINGS]:
            names = owner.resolve(base, within)
            yield from names
            if not names:
                yield from owner.bases(base, within, depth + 1)

    def literal(self, node: ast.AST | None, scope: Scope, depth: int = 0) -> Any:
        """The value of an expression if it can be read off, else :data:`UNKNOWN`.

        Members of enumerations (``ShardingStrategy.FULL_SHARD``) and dtypes are their names in lower case.
        """
        if depth >= _MAX_ALIASES:
            return UNKNOWN
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.literal(operand, scope, depth + 1)
                return -value if isinstance(value, (int, float)) and not isinstance(value, bool) else UNKNOWN
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self.literal(operand, scope, depth + 1)
                return not value if isinstance(value, (bool, int)) else UNKNOWN
            case ast.BinOp(left=left, op=operator, right=right):
                return _computed(operator, self.literal(left, scope, depth + 1), self.literal(right, scope, depth + 1))
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                if len(elements) > _MAX_ELEMENTS:
                    return UNKNOWN
                values = [self.literal(element, scope, depth + 1) for element in elements]
                return UNKNOWN if any(value is UNKNOWN for value in values) or _size(values) > _MAX_ELEMENTS else values
            case ast.Dict(keys=keys, values=inner):
                if len(keys) > _MAX_ELEMENTS or any(key is None for key in keys):
                    return UNKNOWN
                pairs = [
                    (self.literal(key, scope, depth + 1), self.literal(one, scope, depth + 1))
                    for key, one in zip(keys, inner, strict=True)
                ]
                if (
                    not all(isinstance(key, str) for key, _ in pairs)
                    or _size([one for _, one in pairs]) > _MAX_ELEMENTS
                ):
                    return UNKNOWN
                return dict(pairs)
            case ast.Name(id=name):
                found = self.bindings(name, scope)
                if found is None and self.stars:
                    return self._member(node, scope, depth + 1)
                if found is not None and found[0] == [None]:
                    return self._kept(node, scope, depth + 1)
                if found is None or self.rewritten or None in found[0] or len(found[0]) > _MAX_BINDINGS:
                    return UNKNOWN
                if any(isinstance(hit, Imported) for hit in found[0]):
                    return self._member(node, scope, depth + 1)
                value = self._bound_literal(name, *found, depth)
                moved = isinstance(value, list) and (name in scope.reordered or name in found[1].reordered)
                return UNKNOWN if moved else value
            case ast.Attribute():
                value = self._member(node, scope, depth + 1)
                return self._kept(node, scope, depth + 1) if value is UNKNOWN else value
            case ast.Subscript() | ast.Call(func=ast.Attribute(attr="get")):
                return self._kept(node, scope, depth + 1)
            case ast.IfExp(test=test, body=then, orelse=instead):
                way = self.literal(test, scope, depth + 1)
                if way is UNKNOWN or isinstance(way, (list, dict)):
                    return UNKNOWN
                return self.literal(then if way else instead, scope, depth + 1)
            case ast.JoinedStr(values=parts):
                texts = [self._text(part, scope, depth + 1) for part in parts]
                whole = "".join(text for text in texts if text is not None)
                return whole if None not in texts and len(whole) <= _LONGEST else UNKNOWN
            case ast.Call(
                func=ast.Name(id="list"),
                args=[ast.Call(func=ast.Name(id="range"), args=given, keywords=[])],
                keywords=[],
            ):
                values = [self.literal(one, scope, depth + 1) for one in given]
                own = any(self.bindings(name, scope) is not None for name in ("list", "range"))
                return UNKNOWN if own else _counted(values)
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in CONVERTING:
                values = [self.literal(one, scope, depth + 1) for one in given]
                return converted(name, values) if self.bindings(name, scope) is None else UNKNOWN
        return UNKNOWN

    def _text(self, part: ast.expr, scope: Scope, depth: int) -> str | None:
        """A part of an f-string, if it is read off."""
        match part:
            case ast.Constant(value=str(text)):
                return text
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                value = self.literal(inner, scope, depth)
                return str(value) if isinstance(value, (str, int)) else None
        return None

    def _kept(self, node: ast.expr, scope: Scope, depth: int) -> Any:
        """The value of an item, an attribute or a parameter."""
        source = self.source_of(node, scope)
        return UNKNOWN if source is None else source.names.literal(source.node, source.scope, depth)

    def _bound_literal(self, name: str, bindings: list[Binding], scope: Scope, depth: int) -> Any:
        """The value of a name that is bound once, or always to the same."""
        key = (scope, name)
        if key not in self._literals:
            self._literals[key] = UNKNOWN
            values = [self.literal(binding, scope, depth + 1) for binding in bindings if isinstance(binding, ast.AST)]
            first = values[0] if values else UNKNOWN
            same = all(type(value) is type(first) and value == first for value in values)
            self._literals[key] = first if same else UNKNOWN
        return self._literals[key]

    def _member(self, node: ast.AST, scope: Scope, depth: int = 0) -> Any:
        if self.modules is not None and depth < _MAX_ALIASES:
            for name in self._resolved(node, scope, 1):
                value = self._constant(name, depth)
                if value is not UNKNOWN:
                    return value
        names = self.resolve(node, scope)
        if len(names) != 1:
            return UNKNOWN
        root, _, last = names[0].rpartition(".")
        if root in ("torch", "numpy") and last.rstrip("0123456789") in _NUMBERS:
            return _DTYPES.get(names[0], last)
        owner = root.rpartition(".")[2]
        # In the project's own classes such a name is a constant, whose value stands elsewhere.
        of_library = root.partition(".")[0] in _ENUMERATING
        if of_library and owner[:1].isupper() and last.isupper():
            member = last.lower()
            return OPTIMIZER_MEMBERS.get(member, member) if owner == "OptimizerNames" else member
        return UNKNOWN

    def _constant(self, name: str, depth: int) -> Any:
        """The value of a name that another module of the project binds to a literal."""
        found = None if self.modules is None or depth >= _MAX_ALIASES else self.modules.find(name)
        exported = found[0]._exported(found[1]) if found is not None and found[1] else []
        if not exported or any(ending for _, _, ending in exported):
            return UNKNOWN
        owner, first, _ = exported[0]
        if isinstance(first, Imported) and len(exported) == 1:
            return owner._constant(first.name, depth + 1)
        if owner.rewritten or not all(isinstance(binding, ast.expr) for _, binding, _ in exported):
            return UNKNOWN
        last = found[1] if found is not None else ""
        return owner._bound_literal(last, [binding for _, binding, _ in exported], owner.module, depth)


def _is_wrapper(kind: str) -> bool:
    """``torch.nn.parallel.DistributedDataParallel``, in which a program goes on with its model."""
    return kind.endswith(_WRAPPERS)


def _is_parameter(name: str, owner: ast.AST) -> bool:
    if not isinstance(owner, _FUNCTIONS):
        return False
    given = owner.args
    return any(one.arg == name for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _key(node: ast.AST | None) -> str | None:
    """The key of a mapping, if it is written out."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _outer_parts(node: ast.AST) -> list[ast.AST]:
    """What of a function or a class is evaluated outside of it."""
    if isinstance(node, ast.ClassDef):
        return [*node.bases, *node.keywords, *node.decorator_list]
    if isinstance(node, _FUNCTIONS):
        defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
        decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
        return [*defaults, *decorators]
    return []


def _inner_parts(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Lambda):
        return [node.body]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return list(node.body)
    return children_of(node)


def _computed(operator: ast.operator, left: Any, right: Any) -> Any:
    """What two literals give: ``4 * 1024``, ``"t5-" + "small"``."""
    if isinstance(operator, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right if len(left) + len(right) <= _LONGEST else UNKNOWN
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (left, right))
    if not numbers or max(abs(left), abs(right)) > _LARGEST:
        return UNKNOWN
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() if right:
            return left / right
        case ast.FloorDiv() if right:
            return left // right
    return UNKNOWN


def converted(function: str, values: list[Any]) -> Any:
    """What a builtin function makes of literals: ``int("8")``, ``max(1, 32 // 4)``."""
    if not values or any(not isinstance(value, (int, float, str)) for value in values):
        return UNKNOWN
    try:
        value = CONVERTING[function](*values)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
    return value if not isinstance(value, float) or isfinite(value) else UNKNOWN


def _counted(bounds: list[Any]) -> Any:
    """The numbers of ``list(range(20, 200))``."""
    try:
        numbers = range(*bounds)
        return list(numbers) if len(numbers) <= _MAX_ELEMENTS else UNKNOWN
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN


def _size(values: list[Any]) -> int:
    """How many values a list holds at all levels; no more than :data:`_MAX_ELEMENTS` in each of its own."""
    size = 0
    for value in values:
        inner = list(value.values()) if isinstance(value, dict) else value
        size += _size(inner) if isinstance(inner, list) else 1
    return size + 1


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
