"""Modules of torch that a program has compile themselves, by a method that other libraries have for something else."""

from __future__ import annotations

import ast
import re

from gradcompat.scanners.code.calls import KERAS
from gradcompat.scanners.code.names import Names, Scope

_MODULE = re.compile(r"model|module|net$|network|encoder|decoder|transformer|block|layer|engine", re.IGNORECASE)
_ARGUMENTS = frozenset({"fullgraph", "dynamic", "backend", "mode", "options", "disable"})  # those of torch.compile


def compiles_itself(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``model.compile(mode="max-autotune")``; not ``graph.compile()``, nor Keras' with an optimizer and a loss."""
    match call:
        case ast.Call(func=ast.Attribute(attr="compile", value=owner), args=[], keywords=words):
            called = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            return (
                _MODULE.search(called) is not None
                and all(word.arg in _ARGUMENTS for word in words)
                and all(kind.partition(".")[0] not in KERAS for kind in names.type_of(owner, scope))
            )
    return False
