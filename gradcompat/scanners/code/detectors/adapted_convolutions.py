"""Adapters on convolutions: whether those that they are put on are plain, neither dilated nor padded otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradcompat.startup.lazy_patterns import lazy_pattern

_CONVOLUTION = lazy_pattern(r"(?:\w+\.)*Conv2d")
_ADAPTERS = frozenset({"BOFTConfig", "HRAConfig"})
ON_CONVOLUTIONS = lazy_pattern("|".join(sorted(_ADAPTERS)))
"""Adapters that may be put on convolutions, in the text of a program."""
_OPTIONS = frozenset({"dilation", "padding_mode"})
_BEFORE_DILATION = 5  # in_channels, out_channels, kernel_size, stride, padding


def on_plain_convolutions(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """``peft.BOFTConfig.on_plain_convolutions``, where the program makes each module that the adapter is put on."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    made: dict[str, list[ast.expr]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                made.setdefault(name, []).append(value)
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _ADAPTERS:
                targets = next((word.value for word in node.keywords if word.arg == "target_modules"), None)
                named = targets.elts if isinstance(targets, (ast.List, ast.Tuple)) else []
                ends = [
                    one.value.rpartition(".")[2]
                    for one in named
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ]
                seen = bool(ends) and len(ends) == len(named) and all(end in made for end in ends)
                if seen and all(_is_plain(value) for end in ends for value in made[end]):
                    yield f"peft.{name}.on_plain_convolutions", node


def _is_plain(value: ast.expr) -> bool:
    """Is it a convolution that says nothing of either, or another layer, which has neither?"""
    if not isinstance(value, ast.Call) or any(word.arg is None for word in value.keywords):
        return False
    if not _CONVOLUTION.fullmatch(ast.unparse(value.func)):
        return ast.unparse(value.func).rpartition(".")[2] == "Linear"
    given = {word.arg for word in value.keywords}
    plain = len(value.args) <= _BEFORE_DILATION and not any(isinstance(one, ast.Starred) for one in value.args)
    return plain and given.isdisjoint(_OPTIONS)
