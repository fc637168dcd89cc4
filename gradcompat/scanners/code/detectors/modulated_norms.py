"""Blocks as DiT has them: slices of one parameter scale and shift several layer norms.

``shift1, scale1, shift2, scale2 = (self.scale_shift_table + t).chunk(4, dim=1)`` beside two ``nn.LayerNorm(dim,
elementwise_affine=False)``, which are called in the same function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradcompat.scanners.code.syntax import nodes_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_patterns import lazy_pattern

MODULATED = "torch.nn.LayerNorm.modulated"
SLICING = lazy_pattern(r"elementwise_affine(?<!\welementwise_affine)\s*=\s*False\b")
_SLICES = frozenset({"chunk", "unbind", "split"})
_FEWEST = 2  # norms, and slices of each kind


def modulated_norms(statements: Sequence[ast.stmt]) -> ast.AST | None:
    """Where the first such parameter is cut into slices."""
    for node in statements:
        if isinstance(node, ast.ClassDef):
            parameters, norms = _attributes(node)
            for method in (one for one in node.body if isinstance(one, ast.FunctionDef) and len(norms) >= _FEWEST):
                called = {text(one.func) for one in nodes_in(method) if isinstance(one, ast.Call)}
                if len(called & norms) >= _FEWEST:
                    found = next(_sliced(method, parameters), None)
                    if found is not None:
                        return found
    return None


def _attributes(node: ast.ClassDef) -> tuple[set[str], set[str]]:
    """The parameters of a module, and its norms without weights of their own."""
    parameters: set[str] = set()
    norms: set[str] = set()
    for one in nodes_in(node):
        match one:
            case ast.Assign(targets=[ast.Attribute() as target], value=ast.Call() as made):
                name = text(made.func).rpartition(".")[2]
                if name == "Parameter":
                    parameters.add(text(target))
                elif name in ("LayerNorm", "FP32LayerNorm") and SLICING.search(ast.unparse(made)):
                    norms.add(text(target))
    return parameters, norms


def _sliced(method: ast.FunctionDef, parameters: set[str]) -> Iterator[ast.AST]:
    """Where a parameter, alone or with what is added to it, is cut into slices of which each has a name."""
    for one in nodes_in(method):
        match one:
            case ast.Assign(
                targets=[ast.Tuple(elts=names)], value=ast.Call(func=ast.Attribute(value=whole, attr=cut))
            ) if cut in _SLICES and len(names) >= 2 * _FEWEST:
                mentioned = {text(part) for part in nodes_in(whole) if isinstance(part, ast.Attribute)}
                if mentioned & parameters:
                    yield one
