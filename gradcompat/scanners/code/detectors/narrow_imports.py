"""Imports of TensorBoard and wandb that a program does without only where they fail with an ImportError.

``except ImportError`` catches that a package is not there, and no other failure of its code: protobuf raises a
TypeError below TensorBoard, and names that NumPy or protobuf no longer have raise an AttributeError below wandb.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from gradcompat.scanners.code.syntax import TRIES, last_name
from gradcompat.startup.lazy_patterns import lazy_pattern

OF_BOARD = lazy_pattern(r"tensorboard")
NARROW = "SummaryWriter.import_errors_alone"
OF_WANDB = lazy_pattern(r"wandb")
NARROW_WANDB = "wandb_module.import_errors_alone"
_BOARD = lazy_pattern(r"(?:torch\.utils\.)?tensorboard(?:\.\w+)*")
_WANDB = lazy_pattern(r"wandb(?:\.\w+)*")
# Of an AssertionError a handler asks what the package has, behind the import.
_ABSENCES = frozenset({"ImportError", "ModuleNotFoundError", "AssertionError"})


def narrow_import(statements: Sequence[ast.stmt]) -> ast.stmt | None:
    """The first such import of TensorBoard in a module, outside of its functions."""
    return _first(statements, _BOARD)


def narrow_import_of_wandb(statements: Sequence[ast.stmt]) -> ast.stmt | None:
    """The first such import of wandb in a module, outside of its functions."""
    return _first(statements, _WANDB)


def _first(statements: Sequence[ast.stmt], module_of: re.Pattern[str]) -> ast.stmt | None:
    for node in statements:
        if isinstance(node, TRIES) and all(map(_catches_absence_alone, node.handlers)):
            for statement in node.body:
                match statement:
                    case ast.ImportFrom(module=str(module), level=0) if module_of.fullmatch(module):
                        return statement
                    case ast.Import(names=aliases) if any(module_of.fullmatch(one.name) for one in aliases):
                        return statement
    return None


def _catches_absence_alone(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is not None and last_name(kind) in _ABSENCES for kind in kinds)
