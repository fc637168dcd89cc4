"""Does a parameter group get the learning rate from DeepSpeed's scheduler that it would get alone?

Two groups with different rates are warmed up together, and then each in an optimizer of its own. Other groups must not
matter, neither before the first step of the scheduler, when the first step of the optimizer is taken, nor after the
warm-up. The control is that the rates move at all.

``plant`` gives the rate of the first group to all.
"""

import os

_RATES = (0.1, 0.2)
_WARM_UP = 2
_STEPS = 20


def measure(parameters, device, _seed):
    """``schedule``: WarmupLR, WarmupCosineLR, WarmupDecayLR, without a maximum where one could be given; ``plant``."""
    os.environ["DS_ACCELERATOR"] = device.partition(":")[0]
    from deepspeed.runtime import lr_schedules

    name = parameters.get("schedule", "WarmupLR")
    named = {"warmup_num_steps": _WARM_UP}
    if name != "WarmupLR":
        named["total_num_steps"] = _STEPS
    schedule = getattr(lr_schedules, name)
    together = _rates(schedule, _RATES, named)
    if parameters.get("plant"):
        together = [[first] * len(_RATES) for first, *_ in together]
    alone = [_rates(schedule, (rate,), named) for rate in _RATES]
    begun, warm = (
        max(abs(found - own[when][0]) / rate for found, own, rate in zip(together[when], alone, _RATES))
        for when in (0, -1)
    )
    return {
        "first_rate_error": begun,
        "warm_rate_error": warm,
        "control_moved": all(own[-1] != own[0] for own in alone),
    }


def _rates(schedule, rates, named):
    """The rates of all groups: as the optimizer has them before the first step, and after the warm-up."""
    import torch

    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": rate} for rate in rates]
    optimizer = torch.optim.SGD(groups, lr=1.0)
    scheduler = schedule(optimizer, **named)
    seen = [[group["lr"] for group in optimizer.param_groups]]
    for _ in range(_WARM_UP + 1):
        scheduler.step()
    seen.append([group["lr"] for group in optimizer.param_groups])
    return seen
