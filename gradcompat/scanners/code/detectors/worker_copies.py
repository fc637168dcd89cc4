"""Augmentations of albumentations that are made once, before the workers of a data loader copy them.

Each has random generators of its own, so that every copy draws the same numbers. What is made while a sample is taken
is made in the worker, and drawn anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradcompat.scanners.code.syntax import last_name, nodes_in

_COMPOSITIONS = frozenset({"Compose", "ReplayCompose"})
_SAMPLING = frozenset({"__getitem__", "__getitems__", "__iter__", "__next__"})
_RESEEDS = "set_random_seed"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def copied_compositions(modules: Sequence[Sequence[ast.stmt]], calls: Iterable[ast.Call]) -> Iterator[ast.Call]:
    """Those of the calls that no function makes which takes samples or starts a worker.

    Args:
        modules: the statements of all modules of the program.
        calls: of albumentations.
    """
    composing = [call for call in calls if last_name(call.func) in _COMPOSITIONS]
    if not composing:
        return
    nodes = [node for module in modules for statement in module for node in nodes_in(statement)]
    if any(isinstance(node, ast.Attribute) and node.attr == _RESEEDS for node in nodes):
        return
    functions = [node for node in nodes if isinstance(node, _FUNCTIONS)]
    mapped = _mapped(composing, nodes, functions)
    inside = _in_workers(nodes, functions)
    made_there = {
        id(inner) for one in functions if one.name in inside for inner in nodes_in(one) if isinstance(inner, ast.Call)
    }
    yield from (call for call in composing if id(call) not in made_there and id(call) not in mapped)


def _in_workers(nodes: Sequence[ast.AST], functions: Sequence[ast.FunctionDef | ast.AsyncFunctionDef]) -> set[str]:
    """The names of functions that run in a worker, with those that they call."""
    fresh = {*_SAMPLING, *_initialisers(nodes)}
    fresh |= {one.name for one in functions if any(last_name(by) == "property" for by in one.decorator_list)}
    known: set[str] = set()
    while fresh:
        known |= fresh
        bodies = [one for one in functions if one.name in fresh]
        called = {last_name(node.func) for one in bodies for node in nodes_in(one) if isinstance(node, ast.Call)}
        fresh = {one.name for one in functions if one.name in called and one.name != "__init__"} - known
    return known


def _initialisers(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The functions that are given as ``worker_init_fn``."""
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg == "worker_init_fn":
            yield last_name(node.value)


def _mapped(
    composing: Sequence[ast.Call], nodes: Sequence[ast.AST], functions: Sequence[ast.FunctionDef | ast.AsyncFunctionDef]
) -> set[int]:
    """Those that ``load_dataset(…).map(function)`` alone applies, once and before workers load anything."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    mapped = {last_name(one.args[0]) for one in calls if last_name(one.func) == "map" and one.args}
    if not mapped or not any(last_name(one.func) == "load_dataset" for one in calls):
        return set()
    if any(isinstance(node, ast.keyword) and node.arg == "streaming" for node in nodes):
        return set()
    made = {id(call) for call in composing}
    within = {id(inner) for one in functions if one.name in mapped for inner in nodes_in(one)}
    used: dict[str, list[bool]] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.setdefault(node.id, []).append(id(node) in within)
    return {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and id(node.value) in made
        for target in node.targets
        if isinstance(target, ast.Name) and all(used.get(target.id, [False]))
    }
