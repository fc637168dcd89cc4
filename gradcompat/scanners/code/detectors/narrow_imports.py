"""Imports of TensorBoard that a program does without only where they fail with an ImportError.

``except ImportError`` catches that a package is not there, and no other failure of its code: protobuf raises a
TypeError.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradcompat.scanners.code.syntax import TRIES, last_name
from gradcompat.startup.lazy_patterns import lazy_pattern

OF_BOARD = lazy_pattern(r"tensorboard")
NARROW = "SummaryWriter.import_errors_alone"
_MODULE = lazy_pattern(r"(?:torch\.utils\.)?tensorboard(?:\.\w+)*")
_ABSENCES = frozenset({"ImportError", "ModuleNotFoundError"})


def narrow_import(statements: Sequence[ast.stmt]) -> ast.stmt | None:
    """The first such import of a module, outside of its functions."""
    for node in statements:
        if isinstance(node, TRIES) and all(map(_catches_absence_alone, node.handlers)):
            for statement in node.body:
                match statement:
                    case ast.ImportFrom(module=str(module), level=0) if _MODULE.fullmatch(module):
                        return statement
                    case ast.Import(names=aliases) if any(_MODULE.fullmatch(one.name) for one in aliases):
                        return statement
    return None


def _catches_absence_alone(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is not None and last_name(kind) in _ABSENCES for kind in kinds)
