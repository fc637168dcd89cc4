"""Optimizers of torch that get their learning rate as a tensor, as compiled steps want it."""

from __future__ import annotations

import ast
import re

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import calls_behind
from gradcompat.scanners.code.syntax import argument_of

SYMBOL = "torch.optim.Optimizer.tensor_lr"
_OPTIMIZER = re.compile(r"torch\.optim\.(?!lr_scheduler\.)(?:\w+\.)*[A-Z]\w*")
_TENSOR = re.compile(r"torch\.(?:tensor|as_tensor|scalar_tensor|full|Tensor|FloatTensor)")


def has_tensor_rate(call: ast.Call, called: tuple[str, ...], names: Names, scope: Scope) -> bool:
    """``torch.optim.AdamW(parameters, lr=torch.tensor(1e-3))``, whatever holds the tensor before."""
    if not any(map(_OPTIMIZER.fullmatch, called)):
        return False
    rate = argument_of(call, "lr") or (call.args[1] if len(call.args) > 1 else None)
    made = () if rate is None else calls_behind(rate, names, scope)
    return any(_TENSOR.fullmatch(name) for one in made for name in names.resolve(one.func, scope))
