"""Evaluations in a loop of the program's own, between the steps of an epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from gradcompat.scanners.code.detectors.ungraded_calls import switches_off
from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

# What a loop over batches goes through.
_OF_BATCHES = lazy_pattern(r"load|eval|val|test|dev|data|batch|dl\b|iter", re.IGNORECASE)
# What is a loader by its name, and what is one of data that nothing is trained with.
_LOADER = lazy_pattern(r"\w*(?:load\w*|dl|iter\w*|batches|data\w*|set|ds)|val|valid|dev|test", re.IGNORECASE)
_HELD_OUT = lazy_pattern(r"(?:\w+_)?(?:eval|val|valid|dev|test)(?![a-z]*(?:ue|or)s?(?:_|$))\w*", re.IGNORECASE)
_END = "end_of_dataloader"
# What holds behind the last batch alone, where the epoch ends with the evaluation.
_LAST_BATCH = lazy_pattern(r"== len\([^()]*\)(?: - 1)?$|% len\([^()]*\) == 0$")


@dataclass(frozen=True, slots=True)
class InnerEvaluation:
    """An evaluation between steps.

    Attributes:
        at: the loop of the evaluation, or the call of the function that has it.
        apart: accelerate does not come to know of its end: the loader is not among what is prepared, or the program
            takes the end back.
        gathers: the call that gathers what a step was trained with, if there is one.
    """

    at: ast.For | ast.Call
    apart: bool
    gathers: ast.Call | None


def inner_evaluation(statements: Sequence[ast.stmt]) -> InnerEvaluation | None:
    """The first one: a loop over a loader that trains nothing within the loop of the steps, or a function that puts the
    model into evaluation.
    """
    nodes = nodes_in(*statements)
    evaluating = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and (_calls(node, "eval") or _has_no_gradients(node))
        and any(map(_takes_batches, nodes_in(node)))
    }
    for loop in nodes:
        if not isinstance(loop, ast.For) or not _calls(loop, "backward"):
            continue
        inner = [node for node in nodes_in(loop) if isinstance(node, ast.For) and node is not loop]
        if any(_calls(node, "backward") for node in inner):
            continue
        blocks = [node for node in nodes_in(loop) if isinstance(node, ast.If)]
        last = _within(node for node in blocks if _LAST_BATCH.search(ast.unparse(node.test)))
        called = [
            node
            for node in nodes_in(loop)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in evaluating
            and id(node) not in last
        ]
        silent = _calls(loop, "eval")
        loops = [
            node
            for node in inner
            if id(node) not in last and _takes_batches(node) and (silent or _evaluates(node, loop))
        ]
        if called or loops:
            at: ast.For | ast.Call = called[0] if called else loops[0]
            evaluations = {id(one) for one in (*called, *loops)}
            apart = [node for node in blocks if not evaluations.isdisjoint(_within([node]))]
            return InnerEvaluation(at, apart=_apart(at, nodes), gathers=_gathering(loop, [*loops, *apart]))
    return None


def _within(blocks: Iterable[ast.AST]) -> set[int]:
    return {id(one) for block in blocks for one in nodes_in(block)}


def _has_no_gradients(function: ast.FunctionDef) -> bool:
    """``@torch.no_grad()``, or the same around a loop over a loader, up to its end."""
    if _calls(function, "backward"):
        return False
    decorated = any(map(switches_off, function.decorator_list))
    loops = [
        node
        for node in nodes_in(function)
        if isinstance(node, ast.For)
        and any(_LOADER.fullmatch(name) and not name.startswith("data") for name in _names(node.iter))
        and not any(isinstance(one, ast.Break | ast.Return) for one in nodes_in(node))
    ]
    return any(decorated or _evaluates(node, function) for node in loops)


def _calls(node: ast.AST, method: str) -> bool:
    return any(
        isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == method
        for one in nodes_in(node)
    )


def _takes_batches(node: ast.AST) -> bool:
    """Is it a loop over what may be a loader of data? A model takes its steps in loops, too."""
    return isinstance(node, ast.For) and _OF_BATCHES.search(ast.unparse(node.iter)) is not None


def _evaluates(node: ast.For, steps: ast.AST) -> bool:
    """Nothing puts the model into evaluation: does a loop take held-out data, or have no gradients, up to its end?"""
    loaders = [name for name in _names(node.iter) if _LOADER.fullmatch(name)]
    if not loaders or any(isinstance(one, ast.Break | ast.Return) for one in nodes_in(node)):
        return False
    ungraded = [one for one in nodes_in(steps) if isinstance(one, ast.With) and _is_ungraded(one)]
    return (
        any(map(_HELD_OUT.fullmatch, loaders))
        or any(one in node.body for one in ungraded)
        or any(part is node for one in ungraded for part in nodes_in(one))
    )


def _is_ungraded(block: ast.With) -> bool:
    return any(switches_off(one.context_expr) for one in block.items)


def _names(value: ast.AST) -> list[str]:
    return [
        one.id if isinstance(one, ast.Name) else one.attr
        for one in nodes_in(value)
        if isinstance(one, ast.Name | ast.Attribute)
    ]


def _apart(at: ast.For | ast.Call, nodes: Sequence[ast.AST]) -> bool:
    """Is the loader not prepared, by all that is, or is its end taken back?"""
    for node in nodes:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Attribute) and target.attr == _END for target in node.targets
        ):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(f"._set_{_END}"):
            return True
    prepared = [
        one
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("prepare", "prepare_data_loader")
        for one in node.args
    ]
    if not prepared or any(isinstance(one, ast.Starred) for one in prepared):
        return False
    given = [at.iter] if isinstance(at, ast.For) else [*at.args, *(one.value for one in at.keywords)]
    loaders = {name for one in given for name in _names(one) if _OF_BATCHES.search(name)} - {"enumerate"}
    known = {name for one in prepared for name in _names(one)}
    return bool(loaders) and loaders.isdisjoint(known)


def _gathering(steps: ast.For, evaluations: Sequence[ast.AST]) -> ast.Call | None:
    """``gather_for_metrics`` in the loop of the steps, and in no loop or block that evaluates."""
    within = _within(evaluations)
    return next(
        (
            one
            for one in nodes_in(steps)
            if isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and one.func.attr == "gather_for_metrics"
            and id(one) not in within
        ),
        None,
    )
