"""Does the log of the Trainer show a loss that is NaN? Every step of this run has one.

The control is the same model with all its weights: the log has the loss that it computes.
"""

import math

from .. import models, trainers

_STEPS = 3


def measure(parameters, device, seed):
    """``filter``: default, or off for ``logging_nan_inf_filter=False``."""
    import torch

    wanted = {"logging_nan_inf_filter": False} if parameters.get("filter") == "off" else {}
    data = models.samples("llama", "equal", 2 * _STEPS, seed)

    def logged(broken):
        model = models.build("llama", seed)
        if broken:
            with torch.no_grad():
                model.lm_head.weight[0, 0] = float("nan")
        trainer = trainers.train(
            model,
            data,
            per_device_train_batch_size=2,
            max_steps=_STEPS,
            learning_rate=0.0,
            optim="sgd",
            **wanted,
            **trainers.on(device),
        )
        return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

    found = logged(broken=True)
    control = logged(broken=False)
    model = models.build("llama", seed)
    batch = trainers.collate(data)
    with torch.no_grad():
        whole = float(model(**batch).loss)
    return {
        "shown_share": sum(math.isnan(loss) for loss in found) / _STEPS,
        "first_logged": found[0],
        "control_ratio": sum(control) / len(control) / whole,
    }
