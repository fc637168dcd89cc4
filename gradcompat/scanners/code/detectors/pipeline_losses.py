"""Losses of DeepSpeed's pipelines that a program computes in float32."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of

_FLOAT32 = frozenset({"float", "float32"})  # `logits.float()`, `torch.float32`


def gets_float_loss(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Is the ``loss_fn`` that a PipelineModule gets a function or a class of the program that converts to float32?

    Args:
        call: of the PipelineModule.
        names: those of the program.
        scope: where the call stands.
    """
    given = argument_of(call, "loss_fn")
    if isinstance(given, ast.Call):  # `loss_fn=Loss()`
        given = given.func
    if isinstance(given, ast.Lambda):
        return _converts(given)
    defined = names.definition(given, scope) if given is not None else None
    return defined is not None and _converts(defined[1])


def _converts(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Attribute) and inner.attr in _FLOAT32 for inner in ast.walk(node))
