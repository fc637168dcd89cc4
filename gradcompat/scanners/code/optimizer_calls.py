"""The optimizer that a program makes: which one, of which library, over how many groups of parameters."""

from __future__ import annotations

import ast

from gradcompat.model.context import OptionBranch, OptionTest
from gradcompat.scanners.code import calls
from gradcompat.scanners.code.calls import OPTIMIZER_ARGUMENTS, OPTIMIZERS
from gradcompat.scanners.code.detectors.named_optimizers import named_optimizer
from gradcompat.scanners.code.detectors.trained_adapters import optimizes_merged_model
from gradcompat.scanners.code.findings import Findings
from gradcompat.scanners.code.names import UNKNOWN
from gradcompat.scanners.code.parameter_groups import bound, groups_of, with_decay_of_groups, written_by
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.scanners.code.walk import Step
from gradcompat.startup.lazy_dataclasses import replace

_UNKNOWN = OptionTest(kind="unknown")


def read_optimizer(found: Findings, step: Step, call: ast.Call, names: tuple[str, ...]) -> None:
    """What a call makes if it makes an optimizer.

    Args:
        found: in the program.
        step: the call.
        call: the same.
        names: the classes that it may be of, ``optimizer_class(…)``: the run has one of them.
    """
    name = names[0]
    told = with_decay_of_groups(call, found.names, step.scope)
    if calls.optimizer(name) is None:
        step = step if len(names) == 1 else step._replace(branch=True)
        named = named_optimizer(name, call, found.names, step.scope)
        if named is not None:
            found.symbol(named, call)
        if named or (name.startswith("pytorch_optimizer.") and name.rpartition(".")[2][:1].isupper()):
            found.feed(step, OPTIMIZER_ARGUMENTS, found.arguments(step, told))  # its names are those of torch's, too
        return
    arguments = found.arguments(step, told)
    bits = next((argument.value for argument in arguments if argument.name == "optim_bits"), None)
    made = [calls.optimizer(one, bits) for one in names]
    if len(made) > 1 and (step.branch or None in made):  # or by something else, or not at all
        step = step._replace(branch=True)
        found.state(step, "optimizer.name", None)
        found.state(step, "optimizer.library", None)
    else:
        for one, optimizer in zip(names, filter(None, made), strict=True):
            chosen = found.options_of.get(one) if len(names) > 1 else None
            _state(found, step, "optimizer.name", None if bits is UNKNOWN else optimizer[0], chosen)
            _state(found, step, "optimizer.library", optimizer[1], chosen)
    found.feed(step, OPTIMIZER_ARGUMENTS, arguments, OPTIMIZERS)
    found.state(step, "optimizer.groups", _groups(found, step, call))
    merged = optimizes_merged_model(call, found.names, step.scope)
    if merged is not None:
        found.merged.append(merged)


def _state(
    found: Findings, step: Step, key: str, value: str | None, chosen: tuple[OptionTest, ...] | None = None
) -> None:
    """State what is made; of a branch that nothing is known of it is noted what is made there.

    Args:
        found: in the program.
        step: the call.
        key: the setting.
        value: its value.
        chosen: what options have to say, one of these, for a variable to stand for the class.
    """
    decided = len(found.branches)
    found.state(step, key, value)
    stated = found.settings[-1]
    if chosen:
        found.branches.append(OptionBranch(test=OptionTest(kind="any", parts=chosen), stated=stated, own=stated))
    elif step.branch and len(found.branches) == decided:
        found.branches.append(OptionBranch(test=_UNKNOWN, stated=stated, own=replace(stated, value=value)))


def _groups(found: Findings, step: Step, call: ast.Call) -> str | None:
    """Into how many groups an optimizer gets its parameters; `None` if that is put together elsewhere."""
    parameters = argument_of(call, "params", 0)
    if parameters is None:
        return None
    written = written_by(parameters, found.names, step.scope)
    groups, (whole, _) = groups_of(written), bound(written.node, written.names, written.scope)
    made_in_loop = isinstance(whole, ast.ListComp) or (isinstance(whole, ast.List) and not whole.elts)
    if len(groups) > 1 or (groups and made_in_loop):
        return "own_rates" if any("lr" in one for one in groups) else "several"
    if written.node is not parameters:  # what a function makes of parameters may be anything
        return None
    match whole:
        case ast.List() | ast.ListComp() | ast.GeneratorExp() | ast.Call(func=ast.Attribute(attr="parameters")):
            return "one"
        case ast.Call(func=ast.Name(id="filter" | "list")):
            return "one"
    return None
