"""Parameters called ``gamma`` or ``beta``, which ``from_pretrained`` looked for under other names."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.walk import Step, text
from gradcompat.startup.lazy_patterns import lazy_pattern

RENAMED = "torch.nn.Parameter.gamma_or_beta"
"""A parameter with such a name in a module of the program, for records."""
_NAME = lazy_pattern(r"gamma|beta")
_PARAMETER = lazy_pattern(r"torch\.nn\.(?:parameter\.)?Parameter")


def is_renamed(found: Findings, step: Step, target: ast.Attribute, value: ast.expr) -> bool:
    """``self.gamma = nn.Parameter(…)``, also where a condition decides whether there is one."""
    if not _NAME.search(target.attr) or text(target.value) != "self":
        return False
    calls = (one for one in ast.walk(value) if isinstance(one, ast.Call))
    return any(_PARAMETER.fullmatch(name) for one in calls for name in found.names.resolve(one.func, step.scope))
