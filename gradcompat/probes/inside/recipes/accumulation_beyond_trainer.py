"""Is a loop with accelerate's ``accumulate()`` the same as one with large batches? SGD steps from the same weights.

The control is the loop with large batches, repeated.
"""

import inspect

_STEPS = 4
_MICRO = 8
_TAIL = 6


def measure(parameters, device, seed):
    """``sync_each_batch`` of the plugin, as far as the release knows it; ``tail``: the data end within an accumulation.

    With ``plant`` the loop does without ``accumulate()`` and divides nothing.
    """
    import torch

    count = _TAIL if parameters.get("tail") else _MICRO
    samples = torch.randn(count, 4, generator=torch.Generator().manual_seed(seed + 1))
    whole, wanted = _large(samples, seed, device)
    again, _ = _large(samples, seed, device)
    found, updates = _loop(samples, parameters, seed, device)
    return {
        "known": not parameters.get("sync_each_batch") or _knows_sync(),
        "updates_ratio": updates / wanted,
        "update_ratio": float(found.norm() / whole.norm()),
        "update_cosine": float(torch.nn.functional.cosine_similarity(found, whole, dim=0)),
        "control_update_ratio": float(again.norm() / whole.norm()),
        "control_update_norm": float(whole.norm()),
    }


def _model(seed, device):
    import torch

    torch.manual_seed(seed)
    return torch.nn.Linear(4, 1).to(device)


def _loss(model, rows):
    return (model(rows).squeeze(-1) - 1).pow(2).mean()


def _moved(model, seed):
    import torch

    before = _model(seed, "cpu")
    weights = zip(model.parameters(), before.parameters())
    return torch.cat([(new.detach().cpu() - old.detach()).double().flatten() for new, old in weights])


def _large(samples, seed, device):
    """Plain torch: one step a batch, as large as the accumulated ones together."""
    import torch

    model = _model(seed, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = samples.to(device).split(_STEPS)
    for rows in batches:
        _loss(model, rows).backward()
        optimizer.step()
        optimizer.zero_grad()
    return _moved(model, seed), len(batches)


def _knows_sync():
    from accelerate.utils import GradientAccumulationPlugin

    return "sync_each_batch" in inspect.signature(GradientAccumulationPlugin).parameters


def _loop(samples, parameters, seed, device):
    import torch
    from accelerate import Accelerator
    from accelerate.utils import GradientAccumulationPlugin

    given = {"sync_each_batch": True} if parameters.get("sync_each_batch") and _knows_sync() else {}
    plugin = GradientAccumulationPlugin(num_steps=_STEPS, **given)
    accelerator = Accelerator(cpu=device == "cpu", gradient_accumulation_plugin=plugin)
    model = _model(seed, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(list(samples), batch_size=1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    updates = 0

    def step(rows):
        before = [weight.detach().clone() for weight in model.parameters()]
        accelerator.backward(_loss(model, rows))
        optimizer.step()
        optimizer.zero_grad()
        return int(any(not torch.equal(old, new) for old, new in zip(before, model.parameters())))

    for rows in loader:
        if parameters.get("plant"):
            updates += step(rows)
            continue
        with accelerator.accumulate(model):
            updates += step(rows)
    return _moved(model, seed), updates
