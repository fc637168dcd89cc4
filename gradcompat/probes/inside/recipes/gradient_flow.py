"""Which trainable tensors get a gradient? One backward pass, with activation checkpointing and without.

The control is the same model without checkpointing: every trainable tensor gets a gradient there.
"""

import inspect

from .. import models, trainers
from ..skipping import Skip

_LINEAR = ["q_proj", "v_proj"]


def measure(parameters, device, seed):
    """``setup``: what is frozen; ``reentrant``: default, true, false; ``hook``; ``through``: model, trainer."""
    import torch

    setup = parameters.get("setup", "frozen_embeddings")
    ids = torch.randint(3, 60, (2, models.LENGTH), generator=torch.Generator().manual_seed(seed + 1))

    def gradients(checkpointing):
        model = models.build("llama", seed)
        if setup == "lora_after_checkpointing" and checkpointing:
            _checkpoint(model, parameters)
        model = _frozen(model, setup)
        model.train()
        trainable = [weight for weight in model.parameters() if weight.requires_grad]
        try:
            if parameters.get("through") == "trainer":
                before = [weight.detach().clone() for weight in trainable]
                _train(model, ids, checkpointing, parameters, device)
                reached = [not torch.equal(old, weight.detach().cpu()) for old, weight in zip(before, trainable)]
                return len(trainable), sum(reached), None, ""  # a Trainer keeps no gradients
            model.to(device)
            if checkpointing and setup != "lora_after_checkpointing":
                _checkpoint(model, parameters)
            batch = ids.to(device)
            model(input_ids=batch, labels=batch).loss.backward()
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            return len(trainable), 0, 0.0, "element 0 of tensors does not require grad"
        found = [weight.grad for weight in trainable if weight.grad is not None]
        norm = float(torch.stack([grad.norm() for grad in found]).norm()) if found else 0.0
        return len(trainable), len(found), norm, ""

    trainable, plain, plain_norm, _ = gradients(checkpointing=False)
    _, reached, norm, error = gradients(checkpointing=True)
    values = {
        "trainable": trainable,
        "reached": reached,
        "reached_share": reached / trainable,
        "error": error,
        "control_share": plain / trainable,
    }
    if plain_norm is not None:
        values["norm_ratio"] = norm / plain_norm if plain_norm else float("nan")
    return values


def _frozen(model, setup):
    if setup == "frozen_embeddings":
        model.get_input_embeddings().weight.requires_grad_(False)
    elif setup == "last_layer":
        for weight in model.parameters():
            weight.requires_grad_(False)
        for weight in model.model.layers[-1].parameters():
            weight.requires_grad_(True)
    elif setup.startswith("lora"):
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=4, target_modules=_LINEAR, task_type="CAUSAL_LM"))
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                # It begins at zero, and then nothing would reach lora_A, checkpointing or not.
                weight.data.fill_(0.01)
    return model


def _checkpoint(model, parameters):
    reentrant = parameters.get("reentrant", "default")
    if reentrant == "default":
        model.gradient_checkpointing_enable()
    elif "gradient_checkpointing_kwargs" not in inspect.signature(model.gradient_checkpointing_enable).parameters:
        raise Skip("this release takes no gradient_checkpointing_kwargs")
    else:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant == "true"})
    if parameters.get("hook"):
        model.enable_input_require_grads()


def _train(model, ids, checkpointing, parameters, device):
    reentrant = parameters.get("reentrant", "default")
    extra = {"gradient_checkpointing_kwargs": {"use_reentrant": reentrant == "true"}} if reentrant != "default" else {}
    if parameters.get("hook") and checkpointing:
        model.enable_input_require_grads()
    trainers.train(
        model,
        [{"input_ids": row, "labels": row} for row in ids],
        per_device_train_batch_size=2,
        max_steps=1,
        learning_rate=1.0,
        optim="sgd",
        max_grad_norm=0.0,
        gradient_checkpointing=checkpointing,
        **(extra if checkpointing else {}),
        **trainers.on(device),
    )
