"""How fast does a schedule go that accelerate has prepared, where several processes train?

A schedule that falls from 1 to 0 over as many steps as the optimizer takes in each process. Half way it has to be at a
half. The control is the same schedule without accelerate.
"""

from .. import ranks

_STEPS = 8


def measure(parameters, device, seed):
    """``processes``: 1, 2; with ``plant`` each step is two."""

    def work(_, __, own):
        return _measured(parameters, own)

    if parameters.get("processes", 2) == 1:
        return _measured(parameters, device)
    return ranks.together("prepared_schedule", parameters, device, seed, work)


def _measured(parameters, device):
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=device == "cpu")
    layer = torch.nn.Linear(2, 2)
    loader = torch.utils.data.DataLoader(torch.randn(32 * _STEPS, 2), batch_size=4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / _STEPS))
    layer, optimizer, loader, schedule = accelerator.prepare(layer, optimizer, loader, schedule)
    other = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    plain = torch.optim.lr_scheduler.LambdaLR(other, lambda step: max(0.0, 1 - step / _STEPS))
    for number, batch in enumerate(loader):
        if number == _STEPS // 2:
            break
        accelerator.backward(layer(batch).square().mean())
        for _ in range(2 if parameters.get("plant") else 1):
            optimizer.step()
            schedule.step()
        optimizer.zero_grad()
        other.step()
        plain.step()
    return {"rate_half_way": schedule.get_last_lr()[0], "control_rate": plain.get_last_lr()[0]}
