"""Models whose vocabulary is resized, and that are initialised once more behind it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.syntax import nodes_in

_RESIZES, _INITIALISES = "resize_token_embeddings", "post_init"


def initialised_after_resizing(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """``model.post_init()`` behind ``model.resize_token_embeddings(…)``; that of ``self`` is its class's."""
    called = [
        (ast.unparse(node.func.value), node.func.attr, node)
        for node in nodes_in(*statements)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in (_RESIZES, _INITIALISES)
    ]
    resized = {owner: node.lineno for owner, method, node in reversed(called) if method == _RESIZES}
    return next(
        (
            node
            for owner, method, node in called
            if method == _INITIALISES and owner != "self" and resized.get(owner, node.lineno) < node.lineno
        ),
        None,
    )
