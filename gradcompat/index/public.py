"""The address of the public index, which is what counts where nothing else is said."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

_NAME = "PYPI_SIMPLE_ENDPOINT"


def public_index() -> str:
    """The address, as pypi-simple has it.

    What surprises: it is read from the source of that package, because importing it for one constant takes longer than
    most plans; it imports pydantic, requests and a parser of HTML.
    """
    spec = find_spec("pypi_simple")
    if spec is not None and spec.origin is not None:
        try:
            found = _assigned(Path(spec.origin).read_text("utf-8"))
        except (OSError, ValueError, SyntaxError):
            found = None
        if found is not None:
            return found
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return PYPI_SIMPLE_ENDPOINT


def _assigned(source: str) -> str | None:
    """The text that is assigned to the constant; None if it is no longer as plain as that."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == _NAME for target in targets):
                return node.value.value if isinstance(node.value.value, str) else None
    return None
