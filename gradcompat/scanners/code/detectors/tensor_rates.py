"""Optimizers of torch that get their learning rate as a tensor, as compiled steps want it."""

from __future__ import annotations

import ast
import re

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind
from gradcompat.scanners.code.syntax import argument_of

SYMBOL = "torch.optim.Optimizer.tensor_lr"
_OPTIMIZER = re.compile(r"torch\.optim\.(?!lr_scheduler\.)(?:\w+\.)*[A-Z]\w*")
_TENSOR = re.compile(r"torch\.(?:tensor|as_tensor|scalar_tensor|full|Tensor|FloatTensor)")
_TO_NUMBER = frozenset({"float", "item", "tolist"})


def has_tensor_rate(call: ast.Call, called: tuple[str, ...], names: Names, scope: Scope) -> bool:
    """``torch.optim.AdamW(parameters, lr=torch.tensor(1e-3))``, whatever holds the tensor before."""
    if not any(map(_OPTIMIZER.fullmatch, called)):
        return False
    rate = argument_of(call, "lr") or (call.args[1] if len(call.args) > 1 else None)
    for made in () if rate is None else calls_behind(rate, names, scope):
        if called_name(made) in _TO_NUMBER:
            return False
        if any(map(_TENSOR.fullmatch, names.resolve(made.func, scope))):
            return True
    return False
