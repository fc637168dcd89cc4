"""Models whose vocabulary is resized, and that are initialised once more behind it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

_RESIZES, _INITIALISES = "resize_token_embeddings", "post_init"
_ADDS = ("add_tokens", "add_special_tokens")
# ``{"pad_token": tokenizer.eos_token}`` adds nothing.
_KNOWN = lazy_pattern(r"\.\w+_token\b|</s>|<unk>|<\|endoftext\|>")


def initialised_after_resizing(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """``model.post_init()`` behind ``model.resize_token_embeddings(…)``; that of ``self`` is its class's.

    ``len(tokenizer)`` may be the size that the model has, which leaves its layers in place, unless tokens are added.
    """
    calls = [
        (ast.unparse(node.func.value), node.func.attr, node)
        for node in nodes_in(*statements)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    grows = any(method in _ADDS and not _KNOWN.search(ast.unparse(node)) for _, method, node in calls)
    resized = {
        owner: node.lineno for owner, method, node in reversed(calls) if method == _RESIZES and (grows or _told(node))
    }
    return next(
        (
            node
            for owner, method, node in calls
            if method == _INITIALISES and owner != "self" and resized.get(owner, node.lineno) < node.lineno
        ),
        None,
    )


def _told(resizing: ast.Call) -> bool:
    """Is the new size a number, or reckoned from one?"""
    sizes = [*resizing.args[:1], *(one.value for one in resizing.keywords if one.arg == "new_num_tokens")]
    return any(isinstance(size, (ast.Constant, ast.BinOp)) for size in sizes)
