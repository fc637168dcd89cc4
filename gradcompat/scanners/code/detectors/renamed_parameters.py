"""Parameters called ``gamma`` or ``beta``, which ``from_pretrained`` looked for under other names."""

from __future__ import annotations

import ast

from gradcompat.model.environment import Location
from gradcompat.scanners.code.detectors.model_buffers import inside_of_models, loads_a_model
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.walk import Step, text
from gradcompat.startup.lazy_patterns import lazy_pattern

RENAMED = "torch.nn.Parameter.gamma_or_beta"
"""A parameter with such a name in a model of the program that is loaded by ``from_pretrained``, for records."""
_NAME = lazy_pattern(r"gamma|beta")
_PARAMETER = lazy_pattern(r"torch\.nn\.(?:parameter\.)?Parameter")


def gamma_of(found: Findings, step: Step, target: ast.Attribute, value: ast.expr) -> ast.Call | None:
    """The call of ``self.gamma = nn.Parameter(…)``, also where a condition decides whether there is one."""
    if not _NAME.search(target.attr) or text(target.value) != "self":
        return None
    for call in (one for one in ast.walk(value) if isinstance(one, ast.Call)):
        if any(map(_PARAMETER.fullmatch, found.names.resolve(call.func, step.scope))):
            return call
    return None


def gamma_of_model(found: Findings) -> Location | None:
    """The first such parameter in what a model of the project is made of, if weights are loaded.

    A module beside the model has its state from load_state_dict, which takes names as they are.
    """
    if not found.gammas or not found.own_models or not loads_a_model(found):
        return None
    inside, _ = inside_of_models(found)
    return next((location for call, location in found.gammas if call in inside), None)
