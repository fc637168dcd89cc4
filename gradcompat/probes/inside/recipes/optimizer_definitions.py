"""Do six steps of an optimizer of pytorch-optimizer end where its paper says, computed here in float64?

The gradients are given, so that no model and no loss are in the way. The control is plain SGD of torch with the same
gradients. Each definition is that of the defaults, with a decoupled weight decay where one is asked for.
"""

import inspect

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip

_STEPS = 6
_RATE = 1e-2
_DECAY = 0.5
_SHAPES = ((16, 24), (40,))


def measure(parameters, device, seed):
    """``optimizer``, and ``weight_decay``; with ``plant`` it has no state that outlives a step."""
    import torch

    name = parameters.get("optimizer", "adabelief")
    decay = _DECAY if parameters.get("weight_decay") else 0.0
    generator = torch.Generator().manual_seed(seed)
    start = [torch.randn(shape, generator=generator) for shape in _SHAPES]
    steps = [[0.1 * torch.randn(shape, generator=generator) for shape in _SHAPES] for _ in range(_STEPS)]

    def run(make, forgetful=False):
        weights = [torch.nn.Parameter(tensor.clone().to(device)) for tensor in start]
        optimizer = make(weights)
        for gradients in steps:
            for weight, gradient in zip(weights, gradients):
                weight.grad = gradient.clone().to(device)
            if forgetful:
                optimizer.state.clear()
            optimizer.step()
        return flat([weight.detach() - begin.to(device) for weight, begin in zip(weights, start)])

    def exact(definition, shrink):
        moved = []
        for index, begin in enumerate(start):
            weight, state = begin.double(), {}
            for number, gradients in enumerate(steps, 1):
                update = definition(gradients[index].double(), weight, state, number)
                weight = weight * (1 - _RATE * shrink) - _RATE * update
            moved.append(weight - begin.double())
        return flat(moved)

    found = run(lambda weights: _made(name, decay, weights), bool(parameters.get("plant")))
    expected = exact(_DEFINITIONS[name], decay)
    return {
        "finite": int(bool(torch.isfinite(found).all())),
        "update_ratio": norm_ratio(found, expected),
        "update_cosine": cosine(found, expected),
        "control_error": distance(run(lambda weights: torch.optim.SGD(weights, lr=_RATE)), exact(_sgd, 0.0)),
    }


def _made(name, decay, weights):
    import pytorch_optimizer

    maker = getattr(pytorch_optimizer, _NAMES[name], None)
    if maker is None:
        raise Skip("this release of pytorch-optimizer has no %s" % _NAMES[name])
    options = {"lr": _RATE, "weight_decay": decay}
    known = inspect.signature(maker.__init__).parameters
    if decay and "weight_decay" not in known:
        raise Skip("%s takes no weight_decay" % _NAMES[name])
    return maker(weights, **{key: value for key, value in options.items() if key in known})


def _average(state, key, value, beta):
    state[key] = beta * state.get(key, 0.0 * value) + (1 - beta) * value
    return state[key]


def _adam_moments(gradient, state, number):
    mean = _average(state, "mean", gradient, 0.9) / (1 - 0.9**number)
    square = _average(state, "square", gradient**2, 0.999) / (1 - 0.999**number)
    return mean, square


def _sgd(gradient, _weight, _state, _number):
    return gradient


def _adam(gradient, _weight, state, number):
    mean, square = _adam_moments(gradient, state, number)
    return mean / (square.sqrt() + 1e-8)


def _adabelief(gradient, _weight, state, number):
    mean = _average(state, "mean", gradient, 0.9)
    belief = _average(state, "belief", (gradient - mean) ** 2, 0.999) / (1 - 0.999**number)
    return mean / (1 - 0.9**number) / (belief.sqrt() + 1e-16)


def _diffgrad(gradient, _weight, state, number):
    change = (gradient - state.get("last", 0.0 * gradient)).abs()
    state["last"] = gradient
    return _adam(gradient, _weight, state, number) * change.sigmoid()


def _grams(gradient, _weight, state, number):
    mean, square = _adam_moments(gradient, state, number)
    return (mean / (square.sqrt() + 1e-6)).abs() * gradient.sign()


def _lars(gradient, weight, state, _number):
    scaled = gradient * (1e-3 * weight.norm() / gradient.norm()) if gradient.dim() > 1 else gradient
    state["buffer"] = 0.9 * state.get("buffer", 0.0 * scaled) + scaled
    return state["buffer"]


def _msvag(gradient, _weight, state, number):
    beta = 0.9
    power = beta**number
    mean = _average(state, "mean", gradient, beta) / (1 - power)
    square = _average(state, "square", gradient**2, beta) / (1 - power)
    rho = min((1 + power) * (1 - beta) / (1 - power) / (1 + beta), 0.9999)
    variance = (square - mean**2) / (1 - rho)
    return mean * (mean**2 / (mean**2 + rho * variance)).nan_to_num(nan=0.0).clamp(0.0, 1.0)


def _novograd(gradient, _weight, state, number):
    square = gradient.pow(2).sum()
    state["square"] = square if number == 1 else 0.98 * state["square"] + 0.02 * square
    scaled = gradient / (state["square"].sqrt() + 1e-8)
    state["mean"] = scaled if number == 1 else 0.95 * state["mean"] + scaled
    return state["mean"]


def _sign_sgd(gradient, _weight, state, _number):
    return _average(state, "mean", gradient, 0.9).sign()


_NAMES = {
    "adabelief": "AdaBelief",
    "adams": "AdamS",
    "diffgrad": "DiffGrad",
    "flash_adamw": "FlashAdamW",
    "grams": "Grams",
    "lars": "LARS",
    "msvag": "MSVAG",
    "novograd": "NovoGrad",
    "qhadam": "QHAdam",
    "sign_sgd": "SignSGD",
}
_DEFINITIONS = {
    "adabelief": _adabelief,
    "adams": _adam,
    "diffgrad": _diffgrad,
    "flash_adamw": _adam,
    "grams": _grams,
    "lars": _lars,
    "msvag": _msvag,
    "novograd": _novograd,
    "qhadam": _adam,
    "sign_sgd": _sign_sgd,
}
