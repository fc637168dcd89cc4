"""Rerankers of sentence-transformers that are trained in float32, whatever another one in the program is."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.arguments import unpacked
from gradcompat.scanners.code.detectors.float_weights import makes_float
from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

TRAINER = lazy_pattern(r"sentence_transformers\.(?:\w+\.)*CrossEncoderTrainer")
_RANKER = lazy_pattern(r"sentence_transformers\.(?:\w+\.)*CrossEncoder")
_OPTIONS = frozenset({"model_kwargs", "automodel_args"})
_DTYPES = frozenset({"dtype", "torch_dtype"})


def trains_float_ranker(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Does a trainer get a reranker that was neither loaded in another dtype nor left in it?"""
    given = argument_of(unpacked(call, names, scope), "model", 0)
    if given is None:
        return False
    made = [
        one for one in calls_behind(given, names, scope) if any(map(_RANKER.fullmatch, names.resolve(one.func, scope)))
    ]
    return bool(made) and all(_is_plain(one) or makes_float(one, names) for one in made)


def _is_plain(ranker: ast.Call) -> bool:
    """Does nothing that it is given name a dtype?"""
    for word in ranker.keywords:
        if word.arg is None or (word.arg in _OPTIONS and not isinstance(word.value, ast.Dict)):
            return False
        if word.arg in _OPTIONS and isinstance(word.value, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in word.value.keys]
            if None in keys or not _DTYPES.isdisjoint(keys):
                return False
    return True
