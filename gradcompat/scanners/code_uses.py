"""What a program takes from other packages and cannot do without: imports, attributes of modules, keyword arguments.

What a program guards is left out: a `try` that catches the failure, a branch that asks for a version, for availability
or with `hasattr`, code for type checkers, and what stands behind a guarded `return`. So is every name that the program
puts into a module itself.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence

from gradcompat.model.code_use import CodeUse, UseKind
from gradcompat.scanners.code_arguments import Place
from gradcompat.scanners.code_names import Imported, Names, Scope
from gradcompat.scanners.code_syntax import LEAVES, children

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRIES = tuple(getattr(ast, name) for name in ("Try", "TryStar") if hasattr(ast, name))
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
# What a failing import, a missing attribute or an unexpected argument raises, and what catches that.
_CAUGHT = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError", "RuntimeError", "Exception", "BaseException"}
)
# A condition with one of these words may well ask whether the name is there.
_GUARD = re.compile(
    r"version|avail|type_checking|has|find_spec|signature|getattr|import|require|support|install|exist|packaging"
    r"|legacy|compat|\bdir\b|\bold|\bnew|__dict__|sys\.modules|\bis (?:not )?None",
    re.IGNORECASE,
)
_MOST = 5_000  # of one file


def uses(tree: ast.Module, names: Names, place: Place) -> tuple[CodeUse, ...]:
    """Each use once, where it stands first; in the order of the file."""
    own = _put_into_modules(tree, names)
    found: dict[tuple[UseKind, str, str | None, str | None], CodeUse] = {}
    for kind, module, name, keyword, node in _seen(tree, names):
        key = (kind, module, name, keyword)
        if key in found or len(found) >= _MOST:
            continue
        full = f"{module}.{name}" if name else module
        if any(full == one or full.startswith(f"{one}.") for one in own):
            continue
        found[key] = CodeUse(kind=kind, module=module, name=name, keyword=keyword, location=place(node))
    return tuple(found.values())


_Seen = tuple[UseKind, str, "str | None", "str | None", ast.AST]


def _seen(tree: ast.Module, names: Names) -> Iterator[_Seen]:
    waiting: list[tuple[ast.AST, Scope, bool]] = [(tree, names.module, False)]
    while waiting:
        node, scope, guarded = waiting.pop()
        if not guarded:
            yield from _uses_of(node, scope, names)
        if isinstance(node, LEAVES):
            continue
        inner = names.scopes.get(node, scope)
        below = list(_below(node, guarded))
        waiting.extend((one, inner, protected) for one, protected in reversed(below))


def _below(node: ast.AST, guarded: bool) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes directly below a node, and whether each is guarded."""
    match node:
        case ast.If(test=test, body=body, orelse=otherwise):
            yield test, True  # a condition is where one asks
            protected = guarded or _asks(test)
            yield from _block(body, protected)
            yield from _block(otherwise, protected)
        case ast.IfExp(test=test) | ast.BoolOp(values=[test, *_]):
            protected = guarded or _asks(test)
            yield from ((one, protected) for one in children(node))
        case ast.AST() if isinstance(node, _TRIES):
            caught = guarded or any(_catches(one) for one in node.handlers)
            yield from _block(node.body, caught)
            for handler in node.handlers:
                yield from _block(handler.body, guarded or bool(node.handlers))
            yield from _block(node.orelse, caught)
            yield from _block(node.finalbody, guarded)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            yield from ((item, guarded) for item in items)
            suppressing = any("suppress" in ast.unparse(item.context_expr) for item in items)
            yield from _block(body, guarded or suppressing)
        case _ if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            protected = guarded or any(_asks(one) for one in node.decorator_list)
            statements = set(map(id, node.body))
            # Annotations may be texts that nobody evaluates.
            yield from (
                (one, guarded) for one in children(node) if id(one) not in statements and _is_evaluated(one, node)
            )
            yield from _block(node.body, protected)
        case ast.Attribute():
            inner: ast.AST = node
            while isinstance(inner, ast.Attribute):
                inner = inner.value
            yield inner, guarded  # of `a.b.c` the whole only
        case ast.AnnAssign(value=value):
            if value is not None:
                yield value, guarded
        case ast.Module(body=body):
            yield from _block(body, guarded)
        case _:
            yield from ((one, guarded) for one in children(node))


def _is_evaluated(child: ast.AST, node: ast.AST) -> bool:
    return child is not getattr(node, "returns", None) and not isinstance(child, ast.arguments)


def _block(statements: Sequence[ast.stmt], guarded: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Statements in their order; behind a guarded `return` or `raise` all are guarded."""
    for statement in statements:
        yield statement, guarded
        guarded = guarded or _ends_others(statement)


def _ends_others(statement: ast.stmt) -> bool:
    """Does what follows depend on a question for a version and the like?"""
    if isinstance(statement, ast.If):
        return _asks(statement.test) and _leaves(statement.body)
    return isinstance(statement, ast.Assert) and _asks(statement.test)


def _leaves(body: Sequence[ast.stmt]) -> bool:
    last = body[-1]
    is_exit = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and "exit" in ast.unparse(last.value.func)
    return isinstance(last, _LEAVING) or is_exit


def _asks(test: ast.expr) -> bool:
    """Does a condition ask for a version or whether something is there?"""
    return _GUARD.search(ast.unparse(test)) is not None


def _catches(handler: ast.ExceptHandler) -> bool:
    """Does it catch what a missing name raises, and go on?"""
    if handler.body and _leaves(handler.body) and not isinstance(handler.body[-1], (ast.Return, ast.Continue)):
        return isinstance(handler.body[-1], ast.Break)
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    # An exception that is not known here may be one of these.
    named = [one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in kinds]
    return any(name in _CAUGHT or not name.endswith("Error") for name in named)


def _uses_of(node: ast.AST, scope: Scope, names: Names) -> Iterator[_Seen]:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                if _is_elsewhere(alias.name, names):
                    yield "import", alias.name, None, None, node
        case ast.ImportFrom(module=str(module), level=0, names=aliases):
            for alias in aliases:
                if _is_elsewhere(module, names):
                    yield "import", module, None if alias.name == "*" else alias.name, None, alias
        case ast.Call(func=called, keywords=keywords) if any(one.arg for one in keywords):
            full = _full_name(called, scope, names)
            if full is not None:
                root, _, rest = full.partition(".")
                yield from (("keyword", root, rest, one.arg, one) for one in keywords if one.arg is not None)
        case ast.Attribute(ctx=ast.Load()):
            full = _full_name(node, scope, names)
            if full is not None:
                root, _, rest = full.partition(".")
                yield "attribute", root, rest, None, node


def _is_elsewhere(module: str, names: Names) -> bool:
    """Is it a module of another distribution?"""
    root = module.partition(".")[0]
    return root not in sys.stdlib_module_names and (names.modules is None or names.modules.find(module) is None)


def _full_name(node: ast.AST, scope: Scope, names: Names) -> str | None:
    """``transformers.TrainingArguments``, where the name is bound by imports alone and stands for one thing."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return None
    bound = names.bindings(inner.id, scope)
    if bound is None or not bound[0] or not all(isinstance(one, Imported) for one in bound[0]):
        return None
    found = names.resolve(node, scope)
    if len(found) != 1 or "." not in found[0] or found[0].startswith(".") or not _is_elsewhere(found[0], names):
        return None
    return found[0]


def _put_into_modules(tree: ast.Module, names: Names) -> frozenset[str]:
    """The names that the program itself puts into modules of others: ``transformers.AdamW = torch.optim.AdamW``."""
    found: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        waiting.extend(children(node))
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                found.update(names.resolve(node, names.module))
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, ast.Constant(value=str(name)), *_]):
                found.update(f"{one}.{name}" for one in names.resolve(owner, names.module))
            case ast.Subscript(value=value, slice=ast.Constant(value=str(name)), ctx=ast.Store()):
                if ast.unparse(value) == "sys.modules":
                    found.add(name)
    return frozenset(found)
