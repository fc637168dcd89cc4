"""Is one large batch the same as several small ones, when the Hugging Face Trainer trains through DeepSpeed?

As in ``accumulation``, but the engine divides by the accumulation steps, and the Trainer may have divided before. One
process at stage 0 shows it, with SGD and without clipping, which would hide it. The control is the large batch again.

``plant`` scales the loss of the small ones by the accumulation steps once more.
"""

import os

from .. import engines, models, ranks, trainers
from ..comparing import cosine, flat, norm_ratio, ratio

_STEPS = 4


def measure(parameters, device, seed):
    """``model``, ``labels`` (equal, unequal), ``plant``."""
    with ranks.group(0, 1, device) as own:
        return _measured(parameters, own, seed)


def _measured(parameters, device, seed):
    kind = parameters.get("model", "llama")
    data = models.samples(kind, parameters.get("labels", "equal"), _STEPS, seed)
    os.environ["ACCELERATE_USE_DEEPSPEED"] = "true"
    engines.deepspeed_package(device)

    def step(batch, accumulation):
        model = models.build(kind, seed)
        before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        settings = engines.deepspeed_settings({"stage": 0, "accumulation": accumulation})
        settings["train_micro_batch_size_per_gpu"] = batch
        trainer = trainers.train(
            model,
            data,
            _planted(accumulation) if parameters.get("plant") else None,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulation,
            max_steps=1,
            learning_rate=1.0,
            optim="sgd",
            max_grad_norm=0.0,
            deepspeed=settings,
            ddp_backend="gloo" if device == "cpu" else "nccl",
            **trainers.on(device),
        )
        logged = [entry for entry in trainer.state.log_history if "loss" in entry]
        moved = flat([before[name].to("cpu") - weight.detach().to("cpu") for name, weight in model.named_parameters()])
        return logged[0]["loss"], moved

    whole_loss, whole = step(_STEPS, 1)
    again_loss, again = step(_STEPS, 1)
    parts_loss, parts = step(1, _STEPS)
    return {
        "loss_ratio": ratio(parts_loss, whole_loss),
        "update_ratio": norm_ratio(parts, whole),
        "update_cosine": cosine(parts, whole),
        "control_update_norm": float(whole.norm()),
        "control_loss_ratio": ratio(again_loss, whole_loss),
        "control_update_ratio": norm_ratio(again, whole),
    }


def _planted(accumulation):
    from transformers import Trainer

    class DividesAgain(Trainer):
        """Wrong on purpose."""

        def compute_loss(self, *arguments, **named):
            return super().compute_loss(*arguments, **named) / accumulation

    return DividesAgain
