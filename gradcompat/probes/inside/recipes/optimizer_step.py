"""Do three steps of an optimizer end where its definition ends, computed here in float64?

A backward pass lays a gradient down in memory as its weight lies (layout ``transposed``); one that is assigned, and a
state that is loaded after the model went to another memory format, may lie otherwise (``mixed``).

The implementations for speed (fused, foreach, capturable, eight bits) are other code than the plain loop, and what one
of them forgets shows in the weights alone. The gradients are given, so that no model and no loss are in the way. The
control is plain SGD with the same gradients. Sparse gradients are not measured.

``stable_adamw`` is the one of pytorch-optimizer: AdamW that divides its rate, tensor by tensor, by how much the
gradient exceeds what its second moment expects.
"""

import inspect

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip

_STEPS = 3
_RATE = 1e-2
_DECAY = 0.5
_SHAPES = ((64, 128), (16, 24), (40,))  # bitsandbytes keeps eight bits only for 4096 elements and more


def measure(parameters, device, seed):
    """``optimizer``, ``implementation``, ``layout``, ``variant``; ``plant`` breaks the step as its values say."""
    import torch

    name = parameters.get("optimizer", "adamw")
    variant = parameters.get("variant", "plain")
    generator = torch.Generator().manual_seed(seed)
    start = [torch.randn(shape, generator=generator) for shape in _SHAPES]
    steps = [[torch.randn(shape, generator=generator) for shape in _SHAPES] for _ in range(_STEPS)]

    def run(make, layout):
        weights = [torch.nn.Parameter(_laid(tensor, layout).to(device)) for tensor in start]
        optimizer = make(weights)
        for gradients in steps:
            for weight, gradient in zip(weights, gradients):
                weight.grad = _laid(gradient, "contiguous" if layout == "mixed" else layout).to(device)
            _step(optimizer, device)
        return flat([weight.detach() - begin.to(device) for weight, begin in zip(weights, start)])

    def exact(kind, how):
        moved = [_REFERENCES[kind](begin, [one[index] for one in steps], how) for index, begin in enumerate(start)]
        return flat(moved)

    found = run(lambda weights: _made(name, variant, parameters, weights), parameters.get("layout", "contiguous"))
    expected = exact(_KINDS[name], variant)
    control = run(lambda weights: torch.optim.SGD(weights, lr=_RATE), "contiguous")
    values = {
        "update_ratio": norm_ratio(found, expected),
        "update_cosine": cosine(found, expected),
        "control_error": distance(control, exact("sgd", "plain")),
        "control_update_norm": float(expected.norm()),
    }
    if "8bit" not in name:
        values["update_error"] = distance(found, expected)
    return values


def _step(optimizer, device):
    try:
        optimizer.step()
    except RuntimeError as error:
        if "same dtype, device, and layout" not in str(error):
            raise
        raise Skip("the fused kernel on %s refuses tensors that lie differently" % device.split(":")[0]) from error


def _laid(tensor, layout):
    """The same numbers, column by column in memory where that is asked for."""
    return tensor.clone() if layout == "contiguous" or tensor.dim() != 2 else tensor.t().contiguous().t()


def _made(name, variant, parameters, weights):
    if name in _OF_TORCH:
        return _of_torch(name, variant, parameters, weights)
    if name == "stable_adamw":
        return _of_pytorch_optimizer(variant, parameters, weights)
    import bitsandbytes

    if parameters.get("implementation", "default") != "default":
        raise Skip("bitsandbytes has one implementation")
    maker = getattr(bitsandbytes.optim, _OF_BITSANDBYTES[name], None)
    if maker is None:
        raise Skip("this release of bitsandbytes has no %s" % _OF_BITSANDBYTES[name])
    if variant not in ("plain", "weight_decay"):
        raise Skip("%s has no variant `%s`" % (name, variant))
    optimizer = maker(weights, lr=_RATE, weight_decay=_DECAY if variant == "weight_decay" else 0.0)
    return _OnCpu(optimizer) if weights[0].device.type == "cpu" else optimizer


class _OnCpu:
    """An optimizer of bitsandbytes: older releases have none for a CPU, and stumble over that at the first step."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self):
        try:
            self.optimizer.step()
        except (NotImplementedError, AttributeError, NameError) as error:
            raise Skip("this release of bitsandbytes has no such optimizer for a CPU") from error


def _of_torch(name, variant, parameters, weights):
    import torch

    options = {"lr": _RATE, "weight_decay": _DECAY if variant == "weight_decay" else 0.0}
    if variant in ("amsgrad", "maximize", "nesterov"):
        options[variant] = True
    if variant in ("momentum", "nesterov"):
        options["momentum"] = 0.9
    implementation = parameters.get("implementation", "default")
    if implementation == "for_loop":
        options["foreach"] = False
    elif implementation != "default":
        options[implementation] = True
    plant = parameters.get("plant", "nothing")
    maker = torch.optim.Adam if plant == "coupled_decay" else getattr(torch.optim, _OF_TORCH[name])
    for option in options:
        if option not in inspect.signature(maker).parameters:
            raise Skip("%s of this release of torch has no `%s`" % (maker.__name__, option))
    try:
        optimizer = maker(weights, **options)
    except RuntimeError as error:
        # `fused` is refused at once where there is no kernel for the device.
        raise Skip(" ".join(str(error).split())) from error
    if implementation == "capturable" and weights[0].device.type == "cpu":
        raise Skip("`capturable` is for devices that record graphs")
    return _OnCopies(optimizer, weights) if plant == "on_copies" else optimizer


def _of_pytorch_optimizer(variant, parameters, weights):
    import pytorch_optimizer

    maker = getattr(pytorch_optimizer, "StableAdamW", None)
    if maker is None:
        raise Skip("this release of pytorch-optimizer has no StableAdamW")
    if variant not in ("plain", "weight_decay"):
        raise Skip("stable_adamw has no variant `%s`" % variant)
    options = {"lr": _RATE, "weight_decay": _decay(variant)}
    implementation = parameters.get("implementation", "default")
    if implementation not in ("default", "for_loop", "foreach"):
        raise Skip("stable_adamw has no implementation `%s`" % implementation)
    if implementation != "default":
        if "foreach" not in inspect.signature(maker).parameters:
            raise Skip("this release of pytorch-optimizer has one implementation of StableAdamW")
        options["foreach"] = implementation == "foreach"
    return maker(weights, **options)


class _OnCopies:
    """Wrong on purpose, as kernels were that asked for contiguous memory: the step lands in a copy of such weights."""

    def __init__(self, optimizer, weights):
        self.optimizer = optimizer
        self.weights = weights

    def step(self):
        kept = [weight.detach().clone() for weight in self.weights]
        self.optimizer.step()
        for weight, old in zip(self.weights, kept):
            if not weight.is_contiguous():
                weight.data.copy_(old)


def _sgd(start, gradients, variant):
    weight = start.double()
    buffer = None
    for step in gradients:
        gradient = _sign(variant) * step.double() + _decay(variant) * weight
        if variant in ("momentum", "nesterov"):
            buffer = gradient if buffer is None else 0.9 * buffer + gradient
            gradient = gradient + 0.9 * buffer if variant == "nesterov" else buffer
        weight = weight - _RATE * gradient
    return weight - start.double()


def _adam(start, gradients, variant, coupled=True):
    weight = start.double()
    mean = square = largest = 0.0 * weight
    for number, step in enumerate(gradients, 1):
        gradient = _sign(variant) * step.double()
        if coupled:
            gradient = gradient + _decay(variant) * weight
        else:
            weight = weight * (1 - _RATE * _decay(variant))
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        largest = largest.maximum(square)
        root = (largest if variant == "amsgrad" else square) / (1 - 0.999**number)
        weight = weight - _RATE * mean / (1 - 0.9**number) / (root.sqrt() + 1e-8)
    return weight - start.double()


def _adamw(start, gradients, variant):
    return _adam(start, gradients, variant, coupled=False)


def _stable_adamw(start, gradients, variant):
    weight = start.double()
    mean = square = 0.0 * weight
    for number, step in enumerate(gradients, 1):
        gradient = step.double()
        keep, keep_square = [beta * (1 - beta ** (number - 1)) / (1 - beta**number) for beta in (0.9, 0.99)]
        mean = keep * mean + (1 - keep) * gradient
        square = keep_square * square + (1 - keep_square) * gradient**2
        excess = (gradient**2 / square.clamp(min=1e-16)).mean().sqrt()
        rate = _RATE / max(1.0, float(excess))
        weight = weight * (1 - rate * _decay(variant)) - rate * mean / (square.sqrt() + 1e-8)
    return weight - start.double()


def _adagrad(start, gradients, variant):
    weight = start.double()
    total = 0.0 * weight
    for step in gradients:
        gradient = _sign(variant) * step.double() + _decay(variant) * weight
        total = total + gradient**2
        weight = weight - _RATE * gradient / (total.sqrt() + 1e-10)
    return weight - start.double()


def _rmsprop(start, gradients, variant):
    weight = start.double()
    square = buffer = 0.0 * weight
    for step in gradients:
        gradient = _sign(variant) * step.double() + _decay(variant) * weight
        square = 0.99 * square + 0.01 * gradient**2
        update = gradient / (square.sqrt() + 1e-8)
        if variant == "momentum":
            buffer = 0.9 * buffer + update
            update = buffer
        weight = weight - _RATE * update
    return weight - start.double()


def _lion(start, gradients, variant):
    weight = start.double()
    mean = 0.0 * weight
    for step in gradients:
        gradient = step.double()
        weight = weight * (1 - _RATE * _decay(variant))
        weight = weight - _RATE * (0.9 * mean + 0.1 * gradient).sign()
        mean = 0.99 * mean + 0.01 * gradient
    return weight - start.double()


def _sign(variant):
    return -1.0 if variant == "maximize" else 1.0


def _decay(variant):
    return _DECAY if variant == "weight_decay" else 0.0


_REFERENCES = {
    "sgd": _sgd, "adam": _adam, "adamw": _adamw, "adagrad": _adagrad, "rmsprop": _rmsprop, "lion": _lion,
    "stable_adamw": _stable_adamw,
}  # fmt: skip
_OF_TORCH = {"sgd": "SGD", "adam": "Adam", "adamw": "AdamW", "adagrad": "Adagrad", "rmsprop": "RMSprop"}
_OF_BITSANDBYTES = {
    "lion_32bit": "Lion32bit",
    "lion_8bit": "Lion8bit",
    "adamw_32bit": "AdamW32bit",
    "adamw_8bit": "AdamW8bit",
}
_KINDS = {**{name: name for name in _REFERENCES}, **{name: name.split("_")[0] for name in _OF_BITSANDBYTES}}
