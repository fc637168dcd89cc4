"""What a program can do without: it catches the failure and does something else, or asks first whether it is there.

A handler that only tells of the failure is none: what failed is the training then.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.regions import Region, around
from gradcompat.scanners.code.syntax import TRIES, children
from gradcompat.scanners.code.uses import catches
from gradcompat.startup.lazy_patterns import lazy_pattern

# Functions of which a defect asks whether the program can do without.
FUNCTIONS = lazy_pattern(
    r"torchaudio\.(?:load|save)|torch\.(?:amp\.)?autocast|torch\.optim\.lr_scheduler\.ReduceLROnPlateau\.get_last_lr"
    r"|(?:pytorch_)?lightning\.(?:\w+\.)*Trainer\.(?:add_argparse_args|from_argparse_args|parse_argparser)"
)
_TELLING = lazy_pattern(r"print|log|warn|traceback|debug|info|error|exception|critical", re.IGNORECASE)


def regions(names: Names) -> tuple[Region, ...]:
    """The parts of a module whose failure is made good, or that ask first for something of the class they use."""
    if names.fallbacks is None:
        names.fallbacks = tuple(_regions(names))
    return names.fallbacks


def has_fallback(node: ast.AST, names: Names) -> bool:
    """Does a node stand in such a part?"""
    return any(region.holds(node) for region in regions(names))


def is_attempt(node: ast.AST, names: Names) -> bool:
    """Does a node stand in such a part, or where something else has failed?"""
    handlers = (one for one in names.nodes(ast.ExceptHandler) if isinstance(one, ast.ExceptHandler))
    return has_fallback(node, names) or any(around(handler.body).holds(node) for handler in handlers)


def optional_modules(tree: ast.AST) -> Iterator[str]:
    """``try: import tensorflow as tf`` with ``tf = None`` where that fails: whoever uses it asks."""
    for node in filter(_is_try, _statements(tree)):
        instead = {
            target.id
            for handler in node.handlers
            if catches(handler)
            for statement in handler.body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
        for statement in node.body:
            match statement:
                case ast.Import(names=aliases):
                    yield from (one.name for one in aliases if (one.asname or one.name.partition(".")[0]) in instead)
                case ast.ImportFrom(module=str(module), level=0, names=aliases):
                    yield from (f"{module}.{one.name}" for one in aliases if (one.asname or one.name) in instead)


def _is_try(node: ast.AST) -> TypeGuard[ast.Try]:
    return isinstance(node, TRIES)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements and handlers, without looking into expressions."""
    waiting = [tree]
    for node in waiting:
        yield node
        for name in ("body", "handlers", "orelse", "finalbody"):
            block = getattr(node, name, None)
            waiting += block if isinstance(block, list) else ()


def _regions(names: Names) -> Iterator[Region]:
    waiting: list[tuple[ast.AST, Scope]] = [(names.module.node, names.module)]
    while waiting:
        node, scope = waiting.pop()
        inner = names.scopes.get(node, scope)
        waiting += [(child, inner) for child in children(node)]
        match node:
            case ast.If(test=test, body=body) if _asks_for_functions(test, inner, names):
                yield around(body)
            case ast.IfExp(test=test, body=then) if _asks_for_functions(test, inner, names):
                yield around([then])
            case ast.AST() if isinstance(node, TRIES):
                if any(catches(handler) and _makes_good(handler) for handler in node.handlers):
                    yield around(node.body)


def _makes_good(handler: ast.ExceptHandler) -> bool:
    """Does a handler do more than tell?"""
    for statement in handler.body:
        match statement:
            case ast.Expr(value=ast.Call(func=called)) if _TELLING.search(ast.unparse(called)):
                continue
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case _:
                return True
    return False


def _asks_for_functions(test: ast.expr, scope: Scope, names: Names) -> bool:
    """``hasattr(pl.Trainer, "add_argparse_args")``, alone or with more."""
    asked = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for one in asked:
        match one:
            case ast.Call(func=ast.Name(id="hasattr"), args=[owner, ast.Constant(value=str(name))]):
                owners = names.resolve(owner, scope) or names.type_of(owner, scope)  # an object has what its class has
                if any(FUNCTIONS.fullmatch(f"{full}.{name}") for full in owners):
                    return True
    return False
