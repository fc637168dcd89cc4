"""Optimizers of torch that get their learning rate as a tensor, as compiled steps want it."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind
from gradcompat.scanners.code.parameter_groups import groups_of, written_by
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

SYMBOL = "torch.optim.Optimizer.tensor_lr"
_OPTIMIZER = lazy_pattern(
    r"(?:torch\.optim\.(?!lr_scheduler\.)|torchao\.(?:optim|prototype\.low_bit_optim)\.)(?:\w+\.)*_?[A-Z]\w*"
)
_TENSOR = lazy_pattern(r"torch\.(?:tensor|as_tensor|scalar_tensor|full|Tensor|FloatTensor)")
_TO_NUMBER = frozenset({"float", "item", "tolist"})


def has_tensor_rate(call: ast.Call, called: tuple[str, ...], names: Names, scope: Scope) -> bool:
    """``torch.optim.AdamW(parameters, lr=torch.tensor(1e-3))``, also in a group, whatever holds the tensor before."""
    if not any(map(_OPTIMIZER.fullmatch, called)):
        return False
    rate = argument_of(call, "lr", 1)
    if rate is not None and _is_tensor(rate, names, scope):
        return True
    parameters = argument_of(call, "params", 0)
    if parameters is None:
        return False
    written = written_by(parameters, names, scope)
    rates = (group["lr"] for group in groups_of(written) if "lr" in group)
    return any(_is_tensor(one, written.names, written.scope) for one in rates)


def _is_tensor(rate: ast.expr, names: Names, scope: Scope) -> bool:
    for made in calls_behind(rate, names, scope):
        if called_name(made) in _TO_NUMBER:
            return False
        if any(map(_TENSOR.fullmatch, names.resolve(made.func, scope))):
            return True
    return False
