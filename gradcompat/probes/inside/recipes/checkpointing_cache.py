"""Does activation checkpointing change a model that keeps keys and values, as its configuration says by default?

The loss and the gradients with checkpointing against those without it. The control is the same with the cache off.
"""

from .. import toy_tokenizer
from ..comparing import flat, one_line, ratio


def measure(parameters, device, seed):
    """``model``: llama, mistral; ``reentrant``: the implementation of torch; with ``plant`` a key is counted twice."""
    kind = {"llama": "Llama", "mistral": "Mistral"}[parameters.get("model", "llama")]
    reentrant = parameters.get("reentrant", False)
    wanted_loss, wanted = _gradients(kind, None, False, device, seed)
    control_loss, control = _gradients(kind, reentrant, False, device, seed)
    values = {
        "control_loss_ratio": control_loss / wanted_loss,
        "control_gradient_change": ratio((control - wanted).norm(), wanted.norm()),
    }
    try:
        if parameters.get("plant"):
            raise ValueError("Attention mask should be of size (2, 1, 6, 12)")
        loss, found = _gradients(kind, reentrant, True, device, seed)
    except (RuntimeError, ValueError) as error:
        return {"trained": 0, "error": one_line(error), **values}
    return {
        "trained": 1,
        "loss_ratio": loss / wanted_loss,
        "gradient_change": ratio((found - wanted).norm(), wanted.norm()),
        **values,
    }


def _gradients(kind, reentrant, cache, device, seed):
    import torch

    model = toy_tokenizer.model(seed, kind).to(device).train()
    model.config.use_cache = cache
    if reentrant is not None:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
        model.enable_input_require_grads()
    ids = torch.arange(toy_tokenizer.FIRST, toy_tokenizer.FIRST + 12).reshape(2, 6).to(device)
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    return float(loss), flat(weight.grad.detach().cpu() for weight in model.parameters())
