"""Loaders whose data are shared among the processes already when accelerate's prepare() shares them once more."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from gradcompat.scanners.code.object_history import called_name
from gradcompat.scanners.code.syntax import argument_of, nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

# What a program that shares its data by hand speaks of.
SHARING = lazy_pattern(r"DistributedSampler\b|split_dataset_by_node\b")
_SAMPLER, _BY_NODE = "DistributedSampler", "split_dataset_by_node"
_BEFORE_SAMPLER = 3  # dataset, batch_size and shuffle
_ACCELERATOR = lazy_pattern(r"accel|^acc$", re.IGNORECASE)  # and no preparation of something else
_LOADER = lazy_pattern(r"\w*DataLoader")
_ANY_LOADER = lazy_pattern(r"\w*Loader")  # also one of webdataset or of PyG
_MAY_LOAD = lazy_pattern(r"load|dl\b|data|iter|batch|train_?(?!able|er)|set\b", re.IGNORECASE)

# What is no loader, as far as its name says it: who prepares such alone prepares no loader of another file either.
_NO_LOADER = lazy_pattern(
    r"model|net\b|unet|optim|opt\b|adam|sgd|sched|encoder|decoder|transformer|module|critic|policy|\bvae\b",
    re.IGNORECASE,
)

_Told = Mapping[str, Sequence[ast.expr]]


def shared_twice(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first such loader: it is among what an accelerator prepares, by its name or as it is made."""
    nodes = nodes_in(*statements)
    told: dict[str, list[ast.expr]] = {}
    prepared: list[ast.expr] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                told.setdefault(ast.unparse(target), []).append(value)
            case ast.Call(func=ast.Attribute(attr="prepare" | "prepare_data_loader", value=owner), args=args):
                if _ACCELERATOR.search(ast.unparse(owner).rpartition(".")[2]):
                    prepared += args
    for one in prepared:
        values = (one, *told.get(ast.unparse(one), ()))
        made = [value for value in values if isinstance(value, ast.Call) and _LOADER.fullmatch(called_name(value))]
        shared = [loader for loader in made if _shared(loader, told)]
        if made and len(shared) == len(made):
            return shared[0]
    return None


def _shared(loader: ast.Call, told: _Told) -> bool:
    sampler = argument_of(loader, "sampler", _BEFORE_SAMPLER)
    dataset = argument_of(loader, "dataset", 0)
    return any(map(_of_one_process, _values(sampler, told))) or any(
        called_name(call) == _BY_NODE for call in _values(dataset, told)
    )


def _of_one_process(call: ast.Call) -> bool:
    """A sampler of torch's that leaves a process its own part; one that knows of a single replica leaves all."""
    replicas = argument_of(call, "num_replicas", 1)
    alone = isinstance(replicas, ast.Constant) and replicas.value == 1
    return called_name(call) == _SAMPLER and not alone


def _values(value: ast.expr | None, told: _Told) -> list[ast.Call]:
    """The calls that a value is, or that its name stands for, each branch of a choice among them."""
    if value is None:
        return []
    found: list[ast.Call] = []
    for one in (value, *told.get(ast.unparse(value), ())):
        branches = (one.body, one.orelse) if isinstance(one, ast.IfExp) else (one,)
        found += [branch for branch in branches if isinstance(branch, ast.Call)]
    return found


def left_unprepared(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first loader that draws at random, where none of these is among what is prepared, nor what may be one."""
    drawing, others, prepared = _loaders(statements)
    if any(_MAY_LOAD.search(name) for name in prepared - others.keys()):
        return None
    return next(iter(drawing.values()), None) if prepared and prepared.isdisjoint(drawing) else None


def none_prepared(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first loader, where no loader is among what is prepared, nor what may be one."""
    drawing, others, prepared = _loaders(statements)
    made = drawing | others
    if not prepared or not prepared.isdisjoint(made) or any(map(_MAY_LOAD.search, prepared)):
        return None
    return next(iter(made.values()), None)


def prepares_no_loader(statements: Sequence[ast.stmt]) -> bool | None:
    """Does a file prepare only what is no loader by its names? None: it prepares nothing."""
    _, _, names = _loaders(statements)
    calls = [
        node
        for node in nodes_in(*statements)
        if isinstance(node, ast.Call)
        and called_name(node) in ("prepare", "prepare_data_loader")
        and (node.args or node.keywords)
    ]
    if not calls:
        return None
    return bool(names) and all(_NO_LOADER.search(name) and not _MAY_LOAD.search(name) for name in names)


def _loaders(statements: Sequence[ast.stmt]) -> tuple[dict[str, ast.Call], dict[str, ast.Call], set[str]]:
    """Loaders that draw at random and others, by their names, and what is prepared: nothing if one cannot be read."""
    drawing: dict[str, ast.Call] = {}
    others: dict[str, ast.Call] = {}
    prepared: list[ast.expr] = []
    for node in nodes_in(*statements):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=ast.Call() as call) if (
                _ANY_LOADER.fullmatch(called_name(call))
            ):
                draws = any(_draws(keyword) for keyword in call.keywords) or len(call.args) >= _BEFORE_SAMPLER
                (drawing if draws else others).setdefault(ast.unparse(target), call)
            case ast.Call(func=ast.Attribute(attr="prepare" | "prepare_data_loader"), args=given, keywords=[]):
                prepared += given
            case ast.Call(func=ast.Attribute(attr="prepare") | ast.Name(id="prepare_data_loader")):
                return {}, {}, set()
    prepared = [one for one in prepared if not (isinstance(one, ast.Call) and _NO_LOADER.search(called_name(one)))]
    if not all(isinstance(one, ast.Name | ast.Attribute) for one in prepared):
        return {}, {}, set()
    return drawing, others, {ast.unparse(one) for one in prepared}


def _draws(keyword: ast.keyword) -> bool:
    """Is it `shuffle=True` or a sampler, as far as that can be seen?"""
    absent = isinstance(keyword.value, ast.Constant) and keyword.value.value in (False, None)
    return keyword.arg in (None, "shuffle", "sampler", "batch_sampler") and not absent
