"""Does Ranger21 of pytorch-optimizer decay weights at the rate of the step while it warms up?

What the decay adds is the difference of two runs with the same gradients, with it and without. The schedule of the
warm-up rises by the same amount with each step. The control is the schedule itself: how far the weights go without
decay rises as well.
"""

from ..comparing import flat, ratio
from ..skipping import Skip

_STEPS = 3
_WARM_UP = 100
_RATE = 1e-2
_DECAY = 0.1
_SHAPE = (12, 8)


def measure(parameters, device, seed):
    """With ``plant`` the decay is a hundred times as large, as it is at the full rate."""
    import torch

    try:
        from pytorch_optimizer import Ranger21
    except ImportError as error:
        raise Skip("this release of pytorch-optimizer has no Ranger21 (%s)" % error) from error

    generator = torch.Generator().manual_seed(seed)
    start = 1 + torch.rand(_SHAPE, generator=generator)
    gradients = [torch.randn(_SHAPE, generator=generator) for _ in range(_STEPS)]

    def run(decay):
        weight = torch.nn.Parameter(start.clone().to(device))
        optimizer = Ranger21(
            [weight], num_iterations=10 * _WARM_UP, lr=_RATE, weight_decay=decay, num_warm_up_iterations=_WARM_UP,
            num_warm_down_iterations=_WARM_UP,
        )  # fmt: skip
        places = [weight.detach().clone()]
        for gradient in gradients:
            weight.grad = gradient.clone().to(device)
            optimizer.step()
            places.append(weight.detach().clone())
        return places

    without = run(0.0)
    with_it = run(_DECAY * _WARM_UP if parameters.get("plant") else _DECAY)
    decayed = float(flat([with_it[1] - without[1]]).norm() / flat([without[0]]).norm())
    first, last = (float(flat([without[step] - without[step - 1]]).norm()) for step in (1, _STEPS))
    return {"decay_ratio": ratio(decayed, _RATE / _WARM_UP * _DECAY), "control": int(last > first)}
