"""Do TRL's preference trainers accumulate? One SGD step over a large batch against the same samples in micro-batches.

The control is the large batch, repeated. KTO needs two samples in a micro-batch.
"""

from .. import toy_tokenizer, trl_trainers
from ..skipping import Skip

_CLASSES = {
    "dpo": ("DPOConfig", "DPOTrainer"),
    "kto": ("KTOConfig", "KTOTrainer"),
    "cpo": ("CPOConfig", "CPOTrainer"),
    "orpo": ("ORPOConfig", "ORPOTrainer"),
}
_REFERRING = ("dpo", "kto")


def measure(parameters, device, seed):
    """``method``: dpo, kto, cpo, orpo."""
    import torch

    method = parameters.get("method", "dpo")
    micro = 2 if method == "kto" else 1
    whole_loss, whole = _step(method, 4, 1, device, seed)
    again_loss, again = _step(method, 4, 1, device, seed)
    parts_loss, parts = _step(method, micro, 4 // micro, device, seed)
    return {
        "loss_ratio": parts_loss / whole_loss,
        "update_ratio": float(parts.norm() / whole.norm()),
        "update_cosine": float(torch.nn.functional.cosine_similarity(parts, whole, dim=0)),
        "control_loss_ratio": again_loss / whole_loss,
        "control_update_ratio": float(again.norm() / whole.norm()),
        "control_update_norm": float(whole.norm()),
    }


def _step(method, batch, accumulation, device, seed):
    import datasets
    import torch
    import trl

    config, trainer = (getattr(trl, name, None) for name in _CLASSES[method])
    if config is None or trainer is None:
        raise Skip("this release of TRL has no %s" % _CLASSES[method][0 if config is None else 1])
    datasets.disable_progress_bars()
    model = toy_tokenizer.model(seed)
    before = [weight.detach().clone() for weight in model.parameters()]
    arguments = trl_trainers.settings(
        config,
        device,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=accumulation,
        optim="sgd",
        learning_rate=0.1,
        max_grad_norm=0.0,
        max_length=32,
        max_prompt_length=16,
    )
    with trl_trainers.quiet():
        made = trainer(
            model=model,
            args=arguments,
            train_dataset=datasets.Dataset.from_dict(_samples(method)),
            **{trl_trainers.named(trainer): toy_tokenizer.tokenizer("<pad>")},
            **({"ref_model": toy_tokenizer.model(seed)} if method in _REFERRING else {}),
        )
        made.train()
    moved = [(new.detach().cpu() - old).double().flatten() for new, old in zip(model.parameters(), before)]
    logged = [entry["loss"] for entry in made.state.log_history if "loss" in entry]
    return logged[0], torch.cat(moved)


def _samples(method):
    prompts = ["w%d w%d" % (number, number + 1) for number in range(4)]
    chosen = ["w%d w%d w9" % (number + 5, number + 6) for number in range(4)]
    if method == "kto":
        return {"prompt": prompts, "completion": chosen, "label": [True, False] * 2}
    rejected = ["w%d w%d w8" % (number + 15, number + 3) for number in range(4)]
    return {"prompt": prompts, "chosen": chosen, "rejected": rejected}
