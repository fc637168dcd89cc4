"""Can a Trainer be built, and train to the end? A smoke test of what transformers and accelerate ask of one another.

The control is the same model and the same batch in a step of plain torch.
"""

import contextlib
import io

from .. import models, trainers
from ..comparing import one_line

_STEPS = 2


def measure(parameters, device, seed):
    """With ``plant`` the model takes no argument that it is given, and cannot be trained."""
    import torch
    from transformers import Trainer

    data = models.samples("toy_plain", "equal", 2 * _STEPS, seed)
    values = {"control_moved": _plain_step(torch, models.build("toy_plain", seed), trainers.collate(data))}
    model = models.build("toy_plain", seed)
    if parameters.get("plant"):
        model.forward = lambda: None
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            trainer = Trainer(
                model=model,
                args=trainers.arguments(
                    per_device_train_batch_size=2, max_steps=_STEPS, optim="sgd", **trainers.on(device)
                ),
                train_dataset=data,
                data_collator=trainers.collate,
            )
        except Exception as error:  # whatever does not fit, this is what it is about
            return {**values, "built": 0, "error": one_line(error)}
        values["built"] = 1
        try:
            trainer.train()
        except Exception as error:
            return {**values, "trained": 0, "error": one_line(error)}
    return {**values, "trained": 1, "steps": trainer.state.global_step}


def _plain_step(torch, model, batch):
    before = [weight.detach().clone() for weight in model.parameters()]
    model(**batch)["loss"].backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    return max(float((old - new.detach()).abs().max()) for old, new in zip(before, model.parameters()))
