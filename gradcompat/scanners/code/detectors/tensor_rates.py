"""Optimizers of torch that get their learning rate as a tensor, as compiled steps want it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind
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
    rate = argument_of(call, "lr") or (call.args[1] if len(call.args) > 1 else None)
    rates = ([] if rate is None else [rate]) + list(_of_groups(call))
    return any(_is_tensor(one, names, scope) for one in rates)


def _of_groups(call: ast.Call) -> Iterator[ast.expr]:
    """The rates of the groups that are written out."""
    groups = argument_of(call, "params", 0)
    for group in groups.elts if isinstance(groups, (ast.List, ast.Tuple)) else ():
        if isinstance(group, ast.Dict):
            for key, value in zip(group.keys, group.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "lr":
                    yield value


def _is_tensor(rate: ast.expr, names: Names, scope: Scope) -> bool:
    for made in calls_behind(rate, names, scope):
        if called_name(made) in _TO_NUMBER:
            return False
        if any(map(_TENSOR.fullmatch, names.resolve(made.func, scope))):
            return True
    return False
