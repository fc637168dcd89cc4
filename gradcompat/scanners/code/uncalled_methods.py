"""Class methods and static methods that a program never names: ``GPT.from_pretrained`` where only ``GPT(…)`` is called.

What they import and call belongs to other programs that share the class. A framework may call those of what is derived
from its own classes, so only those of plain classes and of modules of torch are looked at.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.names import Imported, Names
from gradcompat.scanners.code.syntax import nodes_in

_OF_CLASS = frozenset({"classmethod", "staticmethod"})
# Bases that call no method of a class by a name that they do not have themselves.
_PLAIN = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "abc.ABC"})

# What calls methods by names that stand in configs and on command lines.
CALLING = frozenset({"hydra", "fire", "jsonargparse", "gin"})


def uncalled(files: Sequence[tuple[ast.Module, Names]]) -> frozenset[ast.AST]:
    """The methods that nothing names outside of themselves.

    Args:
        files: a program and all modules of its project that it imports, each with its names.
    """
    if any(not CALLING.isdisjoint(names.imported) for _, names in files):
        return frozenset()
    found = [(method, names) for tree, names in files for method in _of_classes(tree, names)]
    if not found:
        return frozenset()
    spoken: Counter[str] = Counter()
    for tree, names in files:
        if names.spoken is None:  # asked once for all programs that import it
            names.spoken = Counter(_spoken(tree, names))
        spoken.update(names.spoken)
    return frozenset(
        method for method, names in found if spoken[method.name] == Counter(_spoken(method, names))[method.name]
    )


def _of_classes(tree: ast.Module, names: Names) -> Iterator[ast.FunctionDef]:
    for owner in tree.body:
        if not isinstance(owner, ast.ClassDef) or owner.keywords:
            continue
        if not all(is_plain(base, names) for base in owner.bases):
            continue
        for method in owner.body:
            match method:
                case ast.FunctionDef(decorator_list=[ast.Name(id=decorator)]) if decorator in _OF_CLASS:
                    if not method.name.startswith("__"):
                        yield method


def is_plain(base: ast.expr, names: Names) -> bool:
    """Is it a base that calls no method of a class by itself?"""
    named = names.resolve(base, names.module)
    return (bool(named) and _PLAIN.issuperset(named)) or (isinstance(base, ast.Name) and base.id == "object")


def _spoken(node: ast.AST, names: Names) -> Iterator[str]:
    """The attributes and texts in a tree that may be the names of methods of the project."""
    for one in nodes_in(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
        elif isinstance(one, ast.Attribute) and not is_elsewhere(one.value, names):
            yield one.attr


def is_elsewhere(owner: ast.expr, names: Names) -> bool:
    """Is it a name that is imported from another package, as the ``AutoTokenizer`` of its ``from_pretrained``?"""
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if not isinstance(owner, ast.Name):
        return False
    fulls = names.imported_as.get(owner.id, frozenset())
    only = all(isinstance(binding, Imported) for binding in names.module.names.get(owner.id, ()))
    return bool(fulls) and only and not any(_is_own(full, names) for full in fulls)


def _is_own(full: str, names: Names) -> bool:
    return full.startswith(".") or (names.modules is not None and names.modules.find(full) is not None)
