"""Do six steps of an optimizer of pytorch-optimizer end where its paper says, computed here in float64?

The gradients are given, so that no model and no loss are in the way. The control is plain SGD of torch with the same
gradients. Each definition is that of the defaults, with a decoupled weight decay where one is asked for. Without
gradients weights move by their decay alone.
"""

import inspect

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip

_STEPS = 6
_RATE = 1e-2
_DECAY = 0.5
_SHAPES = ((16, 24), (40,))


def measure(parameters, device, seed):
    """``optimizer``, ``weight_decay``, ``gradients`` (drawn, zero); with ``plant`` no state outlives a step."""
    import torch

    name = parameters.get("optimizer", "adabelief")
    decay = _DECAY if parameters.get("weight_decay") else 0.0
    generator = torch.Generator().manual_seed(seed)
    start = [torch.randn(shape, generator=generator) for shape in _SHAPES]
    drawn = [[0.1 * torch.randn(shape, generator=generator) for shape in _SHAPES] for _ in range(_STEPS)]
    zero = [[torch.zeros(shape) for shape in _SHAPES]] * _STEPS
    asked = zero if parameters.get("gradients") == "zero" else drawn

    def run(make, steps, forgetful=False):
        weights = [torch.nn.Parameter(tensor.clone().to(device)) for tensor in start]
        optimizer = make(weights)
        for gradients in steps:
            for weight, gradient in zip(weights, gradients):
                weight.grad = gradient.clone().to(device)
            if forgetful:
                optimizer.state.clear()
            optimizer.step()
        return flat([weight.detach() - begin.to(device) for weight, begin in zip(weights, start)])

    def exact(definition, steps, shrink):
        moved = []
        for index, begin in enumerate(start):
            weight, state = begin.double(), {"decay": decay}
            for number, gradients in enumerate(steps, 1):
                update = definition(gradients[index].double(), weight, state, number)
                weight = weight * (1 - _RATE * shrink) - _RATE * update
            moved.append(weight - begin.double())
        return flat(moved)

    found = run(lambda weights: _made(name, decay, weights), asked, bool(parameters.get("plant")))
    expected = exact(_DEFINITIONS[name], asked, 0.0 if name in _WITH_DECAY else decay)
    return {
        "finite": int(bool(torch.isfinite(found).all())),
        "update_ratio": norm_ratio(found, expected),
        "update_cosine": cosine(found, expected),
        "control_error": distance(
            run(lambda weights: torch.optim.SGD(weights, lr=_RATE), drawn), exact(_sgd, drawn, 0.0)
        ),
    }


def _made(name, decay, weights):
    import pytorch_optimizer

    maker = getattr(pytorch_optimizer, _NAMES[name], None)
    if maker is None:
        raise Skip("this release of pytorch-optimizer has no %s" % _NAMES[name])
    options = {"lr": _RATE, "weight_decay": decay, **_OPTIONS.get(name, {})}
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


def _a2grad(gradient, weight, state, number):
    mean = state.get("mean", gradient)
    state["mean"] = mean + (gradient - mean) / number
    state["deviation"] = state.get("deviation", 0.0) + (gradient - state["mean"]).pow(2).sum()
    rate = 1.0 / (2.0 * 10.0 / (number + 1) + 10.0 * state["deviation"].sqrt())
    share, last = 2.0 / (number + 3), state.get("share", 1.0)
    state["share"] = share
    state["iterate"] = state.get("iterate", weight) - rate * gradient
    moved = (1 - share) * weight + share * state["iterate"] - (1 - share) * last * rate * gradient
    return (weight - moved) / _RATE


def _adamg(gradient, _weight, state, number):
    square = _average(state, "square", gradient**2, 0.999)
    numerator = _average(state, "numerator", 0.2 * square**0.24, 0.95)
    mean = _average(state, "mean", numerator * gradient, 0.95)
    return mean / (1 - 0.95**number) / ((square / (1 - 0.999**number)).sqrt() + 1e-8)


def _adasmooth(gradient, weight, state, _number):
    change = weight - state.get("last", weight)
    state["last"] = weight
    state["path"] = state.get("path", 0.0) + change
    state["length"] = state.get("length", 0.0) + change.abs()
    share = ((0.99 - 0.5) * state["path"].abs() / (state["length"] + 1e-6) + 1 - 0.99) ** 2
    square = state.get("square", 0.0 * gradient)
    state["square"] = square + share * (gradient**2 - square)
    return gradient / (state["square"] + 1e-6).sqrt()


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


def _schedule_free(gradient, weight, state, rate):
    """The step of the point at which the gradient is taken, with the decay of that point in the gradient."""
    largest = state["largest"] = max(rate, state.get("largest", 0.0))
    state["weights"] = state.get("weights", 0.0) + largest**2
    share = largest**2 / state["weights"] if largest else 0.0
    gradient = gradient + state["decay"] * weight
    fast = state.get("fast", weight)
    state["fast"] = fast - rate * gradient
    moved = weight + share * (fast - weight) + rate * (0.9 * (1 - share) - 1) * gradient
    return (weight - moved) / _RATE


def _schedule_free_sgd(gradient, weight, state, _number):
    return _schedule_free(gradient, weight, state, _RATE)


def _schedule_free_adamw(gradient, weight, state, number):
    square = _average(state, "square", gradient**2, 0.999) / (1 - 0.999**number)
    return _schedule_free(gradient / (square.sqrt() + 1e-8), weight, state, _RATE)


def _schedule_free_radam(gradient, weight, state, number):
    square = _average(state, "square", gradient**2, 0.999) / (1 - 0.999**number)
    longest = 2 / (1 - 0.999) - 1
    length = longest - 2 * number * 0.999**number / (1 - 0.999**number)
    if length <= 4:
        return _schedule_free(gradient, weight, state, 0.0)
    rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
    return _schedule_free(gradient / (square.sqrt() + 1e-8), weight, state, _RATE * rectified)


def _shampoo(gradient, _weight, state, _number):
    import torch

    for side in range(gradient.dim()):
        rows = gradient.movedim(side, 0).reshape(gradient.shape[side], -1)
        key = "side %d" % side
        state[key] = state.get(key, 1e-6 * torch.eye(len(rows)).double()) + rows @ rows.t()
    moved = gradient
    for side in range(gradient.dim()):
        values, vectors = torch.linalg.eigh(state["side %d" % side])
        root = vectors @ torch.diag(values.clamp(min=1e-6) ** (-0.5 / gradient.dim())) @ vectors.t()
        moved = torch.tensordot(root, moved.movedim(side, 0), 1).movedim(0, side)
    return moved


def _still(gradient, _weight, _state, _number):
    """What an optimizer does without gradients, beside the decay."""
    return 0.0 * gradient


def _sign_sgd(gradient, _weight, state, _number):
    return _average(state, "mean", gradient, 0.9).sign()


_NAMES = {
    "a2grad": "A2Grad",
    "adabelief": "AdaBelief",
    "adamg": "AdamG",
    "adams": "AdamS",
    "adasmooth": "AdaSmooth",
    "diffgrad": "DiffGrad",
    "flash_adamw": "FlashAdamW",
    "grams": "Grams",
    "lars": "LARS",
    "msvag": "MSVAG",
    "novograd": "NovoGrad",
    "qhadam": "QHAdam",
    "schedule_free_adamw": "ScheduleFreeAdamW",
    "schedule_free_radam": "ScheduleFreeRAdam",
    "schedule_free_sgd": "ScheduleFreeSGD",
    "shampoo": "Shampoo",
    "sign_sgd": "SignSGD",
    "spam": "SPAM",
}
_OPTIONS = {"adamg": {"p": 0.2}}  # its default has changed
_WITH_DECAY = ("schedule_free_adamw", "schedule_free_radam", "schedule_free_sgd")
_DEFINITIONS = {
    "a2grad": _a2grad,
    "adabelief": _adabelief,
    "adamg": _adamg,
    "adams": _adam,
    "adasmooth": _adasmooth,
    "diffgrad": _diffgrad,
    "flash_adamw": _adam,
    "grams": _grams,
    "lars": _lars,
    "msvag": _msvag,
    "novograd": _novograd,
    "qhadam": _adam,
    "schedule_free_adamw": _schedule_free_adamw,
    "schedule_free_radam": _schedule_free_radam,
    "schedule_free_sgd": _schedule_free_sgd,
    "shampoo": _shampoo,
    "sign_sgd": _sign_sgd,
    "spam": _still,
}
