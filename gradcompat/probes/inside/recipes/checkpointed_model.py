"""A model with activation checkpointing, without the cache, or in training mode, against the same model as it is.

None of these may change anything: not the outputs, not the loss, and no gradient. What ``requires_grad`` says inside a
layer is looked at too: checkpointing runs each layer twice, and in the reentrant kind the first time without gradients.

The control is the model as it is, run twice.
"""

import inspect

from ..comparing import cosine, flat, norm_ratio, ratio
from ..skipping import Skip

_TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}
# The last two layers take the keys and values of the first two.
_SHARING = {
    **_TEXT,
    "head_dim": 8,
    "num_hidden_layers": 4,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "num_kv_shared_layers": 2,
    "sliding_window": 32,
    "vocab_size_per_layer_input": 64,
    "hidden_size_per_layer_input": 8,
}
# Family → its configuration, its model, and what they are made with.
_FAMILIES = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**_TEXT, "num_hidden_layers": 2}),
    "gemma3n": (
        "Gemma3nTextConfig",
        "Gemma3nForCausalLM",
        {**_SHARING, "laurel_rank": 4, "altup_num_inputs": 2, "activation_sparsity_pattern": [0.0] * 4},
    ),
    "gemma4": ("Gemma4TextConfig", "Gemma4ForCausalLM", {**_SHARING, "global_head_dim": 8}),
}
# Of a tensor that gets next to no gradient the direction says nothing.
_NEGLIGIBLE = 1e-5


def measure(parameters, device, seed):
    """``what``: checkpointing, cache, training; ``model``; ``reentrant``: default, true, false; with ``plant`` a layer
    is left out where it is checkpointed, where there is no cache, or in training mode.
    """
    import torch

    ids = torch.randint(3, 60, (2, 12), generator=torch.Generator().manual_seed(seed + 1)).to(device)
    planted = bool(parameters.get("plant"))
    kind = parameters.get("model", "llama")
    what = parameters.get("what", "checkpointing")
    if what != "checkpointing":
        model = _model(torch, kind, seed).to(device).eval()
        plain = _logits(torch, model, ids, use_cache=True)
        again = _logits(torch, model, ids, use_cache=True)
        if planted:
            _leave_out_a_layer(model)
        found = _logits(torch, model.train(what == "training"), ids, use_cache=what == "training")
        scale = float(plain.abs().max())
        return {
            "output_error": float((found - plain).abs().max()) / scale,
            "control_error": float((again - plain).abs().max()) / scale,
        }
    plain = _step(_model(torch, kind, seed).to(device), ids)
    again = _step(_model(torch, kind, seed).to(device), ids)
    model = _model(torch, kind, seed).to(device)
    _checkpoint(model, parameters.get("reentrant", "default"))
    said = _listen(model)
    if planted:
        _leave_out_a_layer(model)
    found = _step(model, ids)
    return {
        "loss_error": abs(found[0] - plain[0]) / plain[0],
        "gradient_ratio": norm_ratio(flat(found[1]), flat(plain[1])),
        "least_cosine": _least_cosine(found[1], plain[1]),
        "first_pass_says": int(said[0]),
        "recomputation_says": int(said[-1]),
        "passes": len(said),
        "control_error": 1.0 - cosine(flat(again[1]), flat(plain[1])),
    }


def _model(torch, kind, seed):
    import transformers

    config, model, settings = _FAMILIES[kind]
    if not hasattr(transformers, model):
        raise Skip("this release has no %s" % model)
    torch.manual_seed(seed)
    return getattr(transformers, model)(getattr(transformers, config)(**settings))


def _logits(torch, model, ids, use_cache):
    with torch.no_grad():
        return model(input_ids=ids, use_cache=use_cache).logits.cpu().double()


def _step(model, ids):
    """The loss, and every gradient; where there is none, zeros."""
    import torch

    model.train()
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return float(loss), [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]


def _least_cosine(found, expected):
    pairs = [(flat([one]), flat([other])) for one, other in zip(found, expected)]
    largest = max(float(other.norm()) for _, other in pairs)
    return min(
        cosine(one, other) if float(one.norm()) else 0.0
        for one, other in pairs
        if ratio(other.norm(), largest) > _NEGLIGIBLE
    )


def _checkpoint(model, reentrant):
    if reentrant == "default":
        model.gradient_checkpointing_enable()
    elif "gradient_checkpointing_kwargs" not in inspect.signature(model.gradient_checkpointing_enable).parameters:
        raise Skip("this release takes no gradient_checkpointing_kwargs")
    else:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant == "true"})


def _listen(model):
    """What ``requires_grad`` says behind the first norm of the first layer, each time that it is run."""
    said = []
    norm = model.model.layers[0].input_layernorm
    norm.register_forward_hook(lambda _, __, output: said.append(output.requires_grad))
    return said


def _leave_out_a_layer(model):
    for weight in model.model.layers[1].parameters():
        weight.data.zero_()
