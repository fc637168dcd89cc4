"""Is one large batch the same as several small ones? One SGD step without clipping, both ways, from the same weights.

Adam and clipping hide errors of scale, and a log alone misses those of the gradient: so the update of all weights is
compared, by its norm and its direction, and the logged loss beside it.
"""

from .. import models, trainers

_STEPS = 4
_TAIL = 2


def measure(parameters, device, seed):
    """``model``, ``labels`` (equal, unequal), ``tail`` (the epoch ends with fewer micro-batches), ``compute_loss``."""
    import torch

    kind = parameters.get("model", "llama")
    trainer_class = _own_loss() if parameters.get("compute_loss") == "own" else None
    count = _TAIL if parameters.get("tail") else _STEPS
    data = models.samples(kind, parameters.get("labels", "equal"), count, seed)

    def step(batch, accumulation):
        model = models.build(kind, seed)
        before = {name: weight.detach().clone() for name, weight in model.named_parameters() if weight.requires_grad}
        trainer = trainers.train(
            model,
            data,
            trainer_class,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulation,
            num_train_epochs=1,
            learning_rate=1.0,
            optim="sgd",
            max_grad_norm=0.0,
            label_smoothing_factor=0.1 if parameters.get("label_smoothing") else 0.0,
            **trainers.on(device),
        )
        moved = [
            (before[name] - weight.detach().to("cpu")).flatten().double()
            for name, weight in model.named_parameters()
            if name in before
        ]
        logged = [entry for entry in trainer.state.log_history if "loss" in entry]
        return logged[0]["loss"], torch.cat(moved)

    whole_loss, whole = step(count, 1)
    again_loss, again = step(count, 1)
    parts_loss, parts = step(1, _STEPS)
    return {
        "loss_whole": whole_loss,
        "loss_accumulated": parts_loss,
        "loss_ratio": _ratio(parts_loss, whole_loss),
        "update_ratio": _ratio(float(parts.norm()), float(whole.norm())),
        "update_cosine": float(torch.nn.functional.cosine_similarity(parts, whole, dim=0)),
        "control_update_norm": float(whole.norm()),
        "control_loss_ratio": _ratio(again_loss, whole_loss),
        "control_update_ratio": _ratio(float(again.norm()), float(whole.norm())),
    }


def _ratio(value, reference):
    return value / reference if reference else float("nan")


def _own_loss():
    from transformers import Trainer

    class OwnLoss(Trainer):
        """A mean over the micro-batch, as many projects write it."""

        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            import torch

            labels = inputs["labels"]
            outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
            logits = outputs["logits"]
            loss = torch.nn.functional.cross_entropy(
                logits[:, :-1].reshape(-1, logits.shape[-1]), labels[:, 1:].reshape(-1), ignore_index=-100
            )
            return (loss, outputs) if return_outputs else loss

    return OwnLoss
