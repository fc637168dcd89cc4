"""The optimizer that a program makes: which one, of which library, over how many groups of parameters."""

from __future__ import annotations

import ast

from gradcompat.scanners.code import calls
from gradcompat.scanners.code.calls import OPTIMIZER_ARGUMENTS
from gradcompat.scanners.code.detectors.named_optimizers import named_optimizer
from gradcompat.scanners.code.detectors.trained_adapters import optimizes_merged_model
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import UNKNOWN
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.scanners.code.walk import Step


def read_optimizer(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    if calls.optimizer(name) is None:
        named = named_optimizer(name, call, found.names, step.scope)
        if named is not None:
            found.symbol(named, call)
        if named or (name.startswith("pytorch_optimizer.") and name.rpartition(".")[2][:1].isupper()):
            found.feed(step, OPTIMIZER_ARGUMENTS, found.arguments(step, call))  # its names are those of torch's, too
        return
    arguments = found.arguments(step, call)
    bits = next((argument.value for argument in arguments if argument.name == "optim_bits"), None)
    optimizer = calls.optimizer(name, bits)
    if optimizer is not None:
        found.state(step, "optimizer.name", None if bits is UNKNOWN else optimizer[0])
        found.state(step, "optimizer.library", optimizer[1])
    found.feed(step, OPTIMIZER_ARGUMENTS, arguments)
    found.state(step, "optimizer.groups", _groups(found, step, call))
    merged = optimizes_merged_model(call, found.names, step.scope)
    if merged is not None:
        found.merged.append(merged)


def _groups(found: Findings, step: Step, call: ast.Call) -> str | None:
    """Into how many groups an optimizer gets its parameters; `None` if that is put together elsewhere."""
    parameters = argument_of(call, "params", 0)
    if isinstance(parameters, ast.Name):
        bound = found.names.bound_once(parameters.id, step.scope)
        parameters = None if bound is None else bound[0]
    match parameters:
        case ast.List(elts=[ast.Dict(), ast.Dict(), *_] as groups):
            keys = {getattr(key, "value", None) for group in groups for key in getattr(group, "keys", ())}
            return "own_rates" if "lr" in keys else "several"
        case ast.List() | ast.ListComp() | ast.GeneratorExp() | ast.Call(func=ast.Attribute(attr="parameters")):
            return "one"
        case ast.Call(func=ast.Name(id="filter" | "list")):
            return "one"
    return None
