"""Kernels that a program calls only where gradients are switched off, so that their backward pass never runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names
from gradcompat.scanners.code.regions import Region, around
from gradcompat.scanners.code.syntax import children
from gradcompat.startup.lazy_patterns import lazy_pattern

# Kernels of which a defect asks whether gradients flow through them.
KERNELS = lazy_pattern(r"flash_attn\.(?:\w+\.)*flash_attn_varlen(?:_kvpacked)?_func")
# What switches gradients off for a block or a function.
SWITCHES = frozenset({"no_grad", "inference_mode"})


def is_ungraded(node: ast.AST, names: Names) -> bool:
    """Does a node stand where gradients are off, or in an import?"""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if names.ungraded is None:
        names.ungraded = tuple(_regions(names.module.node))
    return any(region.holds(node) for region in names.ungraded)


def _regions(tree: ast.AST) -> Iterator[Region]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        match node:
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                if any(switches_off(item.context_expr) for item in items):
                    yield around(body)
            case ast.FunctionDef(decorator_list=decorators, body=body):
                if any(map(switches_off, decorators)):
                    yield around(body)


def switches_off(node: ast.expr) -> bool:
    """``torch.no_grad()``, ``@torch.inference_mode``."""
    called = node.func if isinstance(node, ast.Call) else node
    match called:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in SWITCHES
    return False
