"""torchao's low-bit optimizers and float8 layers: do they step as far as they should, and leave what is frozen frozen?

The step is not compiled unless that is asked for. The controls: the same under a float32 default dtype, the same rate
for all groups, the same conversion without float8 all-gather.
"""

import importlib

from ..comparing import one_line
from ..skipping import Skip

_RATE = 1e-3
_HOMES = ("torchao.optim", "torchao.prototype.low_bit_optim")
_CLASSES = {"adamw8bit": "AdamW8bit", "adamw4bit": "AdamW4bit"}


def measure(parameters, device, seed):  # noqa: ARG001  # the numbers are all the same, and nothing is drawn
    """``what``: dtype, rates, frozen; ``optimizer``; ``compiled``, for which 300 steps are made.

    With ``plant`` the rate is a tenth, the second group has that of the first, the frozen weight is trained.
    """
    what = parameters.get("what", "dtype")
    if what == "frozen":
        return _frozen(parameters)
    measured = {"dtype": _dtype, "rates": _rates}[what]
    if parameters.get("compiled", False):
        return measured(parameters, device)
    import torch

    # The optimizers compile their step themselves, with fullgraph, so that it cannot be switched off from outside.
    compiling = torch.compile
    torch.compile = _not_compiled
    try:
        return measured(parameters, device)
    finally:
        torch.compile = compiling


def _not_compiled(function=None, **_):
    return (lambda inner: inner) if function is None else function


def _class(parameters):
    name = _CLASSES[parameters.get("optimizer", "adamw8bit")]
    for home in _HOMES:
        try:
            return getattr(importlib.import_module(home), name)
        except ModuleNotFoundError as error:
            if error.name != home:
                raise
    raise Skip("this release of torchao has no %s" % name)


def _weight(device):
    """Large enough that its state is kept in few bits."""
    import torch

    return torch.nn.Parameter(torch.ones(64, 64, dtype=torch.float32, device=device))


def _moved(optimizer, weights, steps):
    """How far each weight went in a number of steps with a gradient of 1 everywhere."""
    import torch

    for _ in range(steps):
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        optimizer.step()
    return [1.0 - float(weight.detach().mean()) for weight in weights]


def _dtype(parameters, device):
    """With a gradient that never changes, Adam's step is the learning rate, from the first to the last."""
    import torch

    steps = 300 if parameters.get("compiled") else 10  # beyond 256, where a counter in bfloat16 stops
    kind = _class(parameters)

    def ratio(dtype, rate):
        weight = _weight(device)
        torch.set_default_dtype(dtype)
        try:
            (moved,) = _moved(kind([weight], lr=rate, weight_decay=0.0), [weight], steps)
        finally:
            torch.set_default_dtype(torch.float32)
        return moved / (steps * _RATE)

    control = ratio(torch.float32, _RATE)
    try:
        found = ratio(torch.bfloat16, _RATE / 10 if parameters.get("plant") else _RATE)
    except RuntimeError as error:
        return {"accepted": 0, "error": one_line(error), "control_ratio": control}
    return {"accepted": 1, "moved": found, "control_ratio": control}


def _rates(parameters, device):
    kind = _class(parameters)

    def ratio(*own):
        weights = [_weight(device) for _ in range(2)]
        groups = [{"params": [weight], **given} for weight, given in zip(weights, own)]
        first, second = _moved(kind(groups, lr=_RATE, weight_decay=0.0), weights, 4)
        return second / first

    control = ratio({}, {})
    try:
        found = ratio({"lr": _RATE}, {"lr": _RATE if parameters.get("plant") else 2 * _RATE}) / 2
    except RuntimeError as error:
        return {"accepted": 0, "error": one_line(error), "control_ratio": control}
    return {"accepted": 1, "moved": found, "control_ratio": control}


def _frozen(parameters):
    import torch

    float8 = importlib.import_module("torchao.float8")

    def share(plant=False, **given):
        model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 16))
        model[0].requires_grad_(False)
        wanted = [weight.requires_grad for weight in model.parameters()]
        float8.convert_to_float8_training(model, config=float8.Float8LinearConfig(**given))
        if plant:
            model.requires_grad_(True)
        found = [weight.requires_grad for weight in model.parameters()]
        return sum(one == other for one, other in zip(found, wanted)) / len(wanted)

    return {
        "kept_share": share(bool(parameters.get("plant")), enable_fsdp_float8_all_gather=True),
        "control_ratio": share(emulate=True),
    }
