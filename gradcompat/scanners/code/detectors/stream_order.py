"""In which order a program calls the methods of a stream (``datasets.IterableDataset``), where that decides.

``interleave_datasets([a.shuffle(seed=1), b])`` mixes streams that were shuffled before; where the mix is shuffled as
well, that says nothing.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind

_MIXING = frozenset({"interleave_datasets", "concatenate_datasets"})
_SPLIT = "split_dataset_by_node"


def manner_of_stream(call: ast.Call, called: str, names: Names, scope: Scope) -> str | None:
    """The word behind the name of a function or method of `datasets` that is called late: on what was done before.

    Args:
        call: the call.
        called: what is called, by its full name, or the bare name of the method.
    """
    last = called.rpartition(".")[2]
    if last in _MIXING:
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg in ("datasets", "dsets"))]
        if any("shuffle" in _steps(one, names, scope) for one in given):
            return "of_shuffled"
    elif last == "shuffle" and isinstance(call.func, ast.Attribute):
        if _MIXING & _steps(call.func.value, names, scope):
            return "of_mix"
    elif last == "skip" and isinstance(call.func, ast.Attribute) and _SPLIT in _steps(call.func.value, names, scope):
        return "of_split"
    return None


def _steps(node: ast.AST, names: Names, scope: Scope) -> set[str]:
    return {called_name(call) for call in calls_behind(node, names, scope)}
