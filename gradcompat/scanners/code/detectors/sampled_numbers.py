"""Random numbers of NumPy that are drawn while a sample is made, which is in the workers of a data loader."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.syntax import last_name, nodes_in
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_patterns import lazy_pattern

SAMPLING = lazy_pattern(r"def __(?:getitem|call)__\b")
SAMPLED = "numpy.random.in_samples"
"""The use of such numbers, for records."""
_MAKING = frozenset({"__getitem__", "__call__"})  # of a dataset, and of a transformation
_DRAWING = lazy_pattern(
    r"(?:np|numpy)\.random\.(?:rand|randn|randint|random|random_sample|uniform|normal|standard_normal|choice|beta|"
    r"permutation|shuffle|poisson|gamma|exponential|laplace|binomial|triangular|lognormal)"
)
_SEEDING = lazy_pattern(r"(?:np|numpy)\.random\.seed")


def sampled_number(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first number that a dataset or a transformation of the file draws, by itself or in a function that it calls.

    None where the file seeds the generator in one of these functions.
    """
    functions = [node for node in nodes_in(*statements) if isinstance(node, ast.FunctionDef)]
    known: set[str] = set()
    fresh = set(_MAKING)
    while fresh:
        known |= fresh
        called = {last_name(one.func) for function in functions if function.name in fresh for one in _calls(function)}
        fresh = {one.name for one in functions if one.name in called and one.name != "__init__"} - known
    calls = [call for function in functions if function.name in known for call in _calls(function)]
    if any(_SEEDING.fullmatch(text(call.func)) for call in calls):
        return None
    drawn = (call for call in calls if _DRAWING.fullmatch(text(call.func)))
    return min(drawn, key=lambda call: call.lineno, default=None)


def _calls(function: ast.FunctionDef) -> list[ast.Call]:
    return [node for node in nodes_in(*function.body) if isinstance(node, ast.Call)]
