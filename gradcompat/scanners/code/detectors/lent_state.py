"""A ``model.state_dict`` that a program replaces for a while and puts back before anything is saved."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.walk import text

_SAVING = frozenset({"save_pretrained", "save_model", "save_state", "save", "_save"})
_TRAINING = frozenset({"train", "fit"})  # which save checkpoints, unless they are told not to


def is_put_back(target: ast.Attribute, tree: ast.AST) -> bool:
    """Does a later assignment take the replacement away again, and nothing save in between?

    Args:
        target: what is assigned, ``model.state_dict``.
        tree: the program.
    """
    later = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, (ast.Name, ast.Attribute))
        and any(text(one) == text(target) for one in node.targets)
        and node.lineno > target.lineno
    ]
    if not later:
        return False
    within = range(target.lineno + 1, min(later))
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.lineno in within
    }
    return called.isdisjoint(_SAVING) and (called.isdisjoint(_TRAINING) or _saves_no_checkpoint(tree))


def _saves_no_checkpoint(tree: ast.AST) -> bool:
    """``save_strategy="no"``."""
    given = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "save_strategy"]
    return bool(given) and all(isinstance(value, ast.Constant) and value.value == "no" for value in given)
