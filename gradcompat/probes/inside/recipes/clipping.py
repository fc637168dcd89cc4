"""Does ``clip_grad_norm_`` find the norm and shorten every gradient by the same factor, and does a trainer clip at all?

What torch does is compared with the same arithmetic in float64. Gradients below the limit have to stay as they are, and
one that is not finite has to show in the norm, or to raise where that is asked for. Sharded gradients are not measured.

Of TRL's trainers with loops of their own the gradients are measured that reach the optimizer. The control is the same
step, repeated, where clipping is off.
"""

import inspect
import math

from .. import reinforced
from ..comparing import cosine, distance, flat, norm_ratio, ratio
from ..skipping import Skip

_LIMIT = 1.0
_FAR = 1e6  # beyond all gradients here
_TIMES = 8.0  # the gradients of trainers are so many times as long as their limit
_EPSILON = 1e-6  # what torch adds to the norm that it divides by


def measure(parameters, device, seed):
    """``norm``, ``foreach``, ``dtype``, ``size`` of what torch clips; ``through``: torch, rloo, ppo.

    ``plant``: each gradient is clipped by its own norm; in a trainer the limit is out of reach.
    """
    through = parameters.get("through", "torch")
    if through != "torch":
        return _by_trainer(through, bool(parameters.get("plant")), device, seed)
    return _by_torch(parameters, device, seed)


def _by_trainer(method, plant, device, seed):
    def longest(limit):
        return max(reinforced.gradient_norms(method, limit, device, seed))

    norm = longest(_FAR)
    limit = norm / _TIMES
    return {
        "clipped_ratio": ratio(longest(_FAR if plant else limit), limit),
        "control_norm_ratio": ratio(longest(_FAR), norm),
    }


def _by_torch(parameters, device, seed):
    import torch

    dtype = getattr(torch, parameters.get("dtype", "float32"))
    order = float(parameters.get("norm", "2"))
    large = parameters.get("size") == "large"
    clip = _per_tensor if parameters.get("plant") else _of_torch(parameters.get("foreach", "default"))
    generator = torch.Generator().manual_seed(seed)
    shapes = ((512, 512), (512,), (64, 64)) if large else ((16, 32), (32,), (8, 8))
    # The norm of the large ones is more than float16 can hold, and none of their elements is.
    base = [
        (torch.randn(shape, generator=generator) * (index + 1) * (200 if large else 1)).to(dtype)
        for index, shape in enumerate(shapes)
    ]

    def weights(factor=1.0, spoiled=None):
        made = []
        for gradient in base:
            weight = torch.nn.Parameter(torch.zeros(gradient.shape, dtype=dtype, device=device))
            weight.grad = (gradient * factor).to(device)
            made.append(weight)
        if spoiled is not None:
            made[0].grad.view(-1)[0] = spoiled
        return made

    exact = flat(base)
    expected_norm = float(torch.linalg.vector_norm(exact, order))
    expected = exact * min(1.0, _LIMIT / (expected_norm + _EPSILON))

    long = weights()
    norm = clip(long, _LIMIT, order)
    clipped = flat([weight.grad for weight in long])
    # So short that nothing is to be done; times a power of two, which every type holds exactly.
    factor = 2.0 ** -math.ceil(math.log2(expected_norm * 4))
    short = weights(factor)
    left = flat([weight.grad for weight in short])
    clip(short, _LIMIT, order)
    values = {
        "norm_ratio": ratio(norm, expected_norm),
        "clipped_ratio": norm_ratio(clipped, expected),
        "clipped_cosine": cosine(clipped, expected),
        "short_error": distance(flat([weight.grad for weight in short]), left),
        "control_norm_ratio": ratio(_by_hand(exact.tolist(), order), expected_norm),
    }
    if not parameters.get("plant"):
        seen = float(clip(weights(spoiled=float("nan")), _LIMIT, order))
        values["nonfinite_norm_seen"] = not math.isfinite(seen)
        try:
            clip(weights(spoiled=float("inf")), _LIMIT, order, error_if_nonfinite=True)
            values["nonfinite_raised"] = False
        except RuntimeError as error:
            if "non-finite" not in str(error):
                raise
            values["nonfinite_raised"] = True
    return values


def _by_hand(numbers, order):
    if math.isinf(order):
        return max(map(abs, numbers))
    return math.fsum(abs(number) ** order for number in numbers) ** (1 / order)


def _of_torch(foreach):
    import torch

    clip = torch.nn.utils.clip_grad_norm_
    known = inspect.signature(clip).parameters
    if "error_if_nonfinite" not in known:
        raise Skip("clip_grad_norm_ of this release of torch has no `error_if_nonfinite`")
    if foreach == "default":
        return clip
    if "foreach" not in known:
        raise Skip("clip_grad_norm_ of this release of torch has no `foreach`")

    def with_foreach(weights, limit, order, **more):
        return clip(weights, limit, order, foreach=foreach == "true", **more)

    return with_foreach


def _per_tensor(weights, limit, order):
    """Wrong on purpose: this is another direction."""
    import torch

    return max(torch.nn.utils.clip_grad_norm_([weight], limit, order) for weight in weights)
