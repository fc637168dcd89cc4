"""Does accelerate go on accumulating gradients after an evaluation in the middle of an epoch?

Counted are the optimizer steps of one epoch. The control is the same epoch without the evaluation.
"""

_MICRO_BATCHES = 16
_STEPS = 4


def measure(parameters, device, seed):  # noqa: ARG001  # what accelerate takes: the CPU, by its variable
    """With ``plant`` every micro-batch behind the evaluation ends an optimizer step."""
    wanted = _MICRO_BATCHES // _STEPS
    return {
        "steps_ratio": _steps(True, parameters.get("plant"), seed) / wanted,
        "control_steps_ratio": _steps(False, False, seed) / wanted,
    }


def _steps(evaluates, plant, seed):
    import torch
    from accelerate import Accelerator

    torch.manual_seed(seed)
    accelerator = Accelerator(gradient_accumulation_steps=_STEPS)
    model = torch.nn.Linear(4, 1)
    model, optimizer, training, held_out = accelerator.prepare(
        model,
        torch.optim.SGD(model.parameters(), lr=0.1),
        torch.utils.data.DataLoader(torch.randn(2 * _MICRO_BATCHES, 4), batch_size=2),
        torch.utils.data.DataLoader(torch.randn(4, 4), batch_size=2),
    )
    steps = 0
    for number, rows in enumerate(training):
        with accelerator.accumulate(model):
            accelerator.backward(model(rows).pow(2).mean())
            optimizer.step()
            optimizer.zero_grad()
        steps += int(accelerator.sync_gradients or bool(plant and number >= _STEPS))
        if evaluates and number == _STEPS - 1:
            for held in held_out:
                model(held)
    return steps
