"""Is a model with a fast attention the same model as with attention written out: in training, in evaluation, backward?

Both have the same weights, of a size at which the attention is not even, and no dropout. A vision tower that takes
several images in one row is compared with itself on one image at a time. The control is the written-out model again.
"""

import importlib
import inspect

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip

_TOKENS = 12
_WORDS = 64
_PATCHES = 8  # an image has that many by that many
_PATCH = 4
_TEXT = {
    "vocab_size": _WORDS,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "attention_dropout": 0.0,
    "use_cache": False,
}
# Every second layer has a window, which is longer than what is measured here.
_GEMMA = {
    **_TEXT,
    "head_dim": 8,
    "query_pre_attn_scalar": 8,
    "sliding_window": 32,
    "attn_logit_softcapping": 1.0,
    "final_logit_softcapping": None,
}
_VISION = {
    "depth": 2,
    "hidden_size": 32,
    "num_heads": 4,
    "patch_size": _PATCH,
    "temporal_patch_size": 2,
    "spatial_merge_size": 2,
}
# Model → its module, its configuration's class, its own, and its settings.
_MODELS = {
    "llama": ("llama", "LlamaConfig", "LlamaForCausalLM", _TEXT),
    "gemma2": ("gemma2", "Gemma2Config", "Gemma2ForCausalLM", _GEMMA),
    "vaultgemma": ("vaultgemma", "VaultGemmaConfig", "VaultGemmaForCausalLM", _GEMMA),
    "mllama": (
        "mllama",
        "MllamaTextConfig",
        "MllamaForCausalLM",
        {**_TEXT, "cross_attention_layers": [1], "rope_scaling": {"rope_type": "default", "rope_theta": 10000.0}},
    ),
    "glm4v_vision": (
        "glm4v",
        "Glm4vVisionConfig",
        "Glm4vVisionModel",
        {**_VISION, "intermediate_size": 64, "image_size": _PATCHES * _PATCH, "out_hidden_size": 32},
    ),
    "qwen2_vl_vision": (
        "qwen2_vl",
        "Qwen2VLVisionConfig",
        "Qwen2VisionTransformerPretrainedModel",
        {**_VISION, "embed_dim": 32},
    ),
}


def measure(parameters, device, seed):
    """``model``; ``attention``: sdpa, eager, or default for the release's choice; ``mask``: none, padding.

    With ``plant`` the queries of what is compared get no gradient.
    """
    import torch

    name = parameters.get("model", "llama")
    attention = parameters.get("attention", "default")
    fast = _model(name, attention, seed).to(device)
    slow = _model(name, "eager", seed).to(device)
    slow.load_state_dict(fast.state_dict())
    if parameters.get("plant"):
        for path, module in fast.named_modules():
            if path.rpartition(".")[2] in ("q_proj", "qkv"):
                module.register_forward_hook(lambda _, __, output: output.detach())
    generator = torch.Generator().manual_seed(seed + 1)
    if name.endswith("_vision"):
        pixels = torch.randn(2 * _PATCHES**2, 3 * 2 * _PATCH**2, generator=generator).to(device)
        fast_outputs, slow_outputs = _images(fast, pixels, 2), _images(slow, pixels, 1)
    else:
        fast_outputs, slow_outputs = (_logits(one, parameters, generator.manual_seed(seed + 1)) for one in (fast, slow))
    weights = torch.randn(slow_outputs().shape, generator=generator).to(device)
    found, gradients = _trained(fast, fast_outputs, weights)
    expected, right = _trained(slow, slow_outputs, weights)
    again, right_again = _trained(slow, slow_outputs, weights)
    with torch.no_grad():
        fast.eval(), slow.eval()
        evaluated = distance(flat([fast_outputs()]), flat([slow_outputs()]))
    return {
        "output_error": distance(found, expected),
        "evaluation_error": evaluated,
        "gradient_ratio": norm_ratio(gradients, right),
        "gradient_cosine": cosine(gradients, right),
        "attention": str(getattr(fast.config, "_attn_implementation", None)),
        "control_error": max(distance(again, expected), distance(right_again, right)),
    }


def _model(name, attention, seed):
    import torch

    family, config_name, model_name, settings = _MODELS[name]
    try:
        place = "transformers.models.%s" % family
        module = importlib.import_module("%s.modeling_%s" % (place, family))
        made = getattr(importlib.import_module("%s.configuration_%s" % (place, family)), config_name)
    except (ImportError, AttributeError) as error:
        raise Skip("this release has no %s" % model_name) from error
    config = made(**settings)
    if attention != "default":
        config._attn_implementation = attention
    torch.manual_seed(seed)
    try:
        model = getattr(module, model_name)(config)
    except (ValueError, KeyError) as error:
        if attention == "default":
            raise
        raise Skip("this release has no %s attention for %s" % (attention, model_name)) from error
    if attention not in ("default", getattr(model.config, "_attn_implementation", "eager")):
        raise Skip("this release has no %s attention for %s" % (attention, model_name))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.15)
            else:
                # What is 0 at the start, as a gate is, would hide what it is multiplied with.
                weight.add_(torch.rand(weight.shape, generator=generator))
    return model.train()


def _logits(model, parameters, generator):
    import torch

    device = next(model.parameters()).device
    given = {"input_ids": torch.randint(3, _WORDS, (2, _TOKENS), generator=generator).to(device)}
    kept = torch.ones(2, _TOKENS, 1, device=device)
    if parameters.get("mask") == "padding":
        mask = torch.ones_like(given["input_ids"])
        mask[1, _TOKENS - 4 :] = 0
        given["attention_mask"] = mask
        kept = mask[:, :, None]
    if "cross_attention_states" in inspect.signature(model.forward).parameters:
        given["cross_attention_states"] = torch.randn(2, 10, 32, generator=generator).to(device)
        try:
            model(**given)
        except TypeError as error:
            raise Skip("this release takes no image without a mask for it") from error
    return lambda: model(**given).logits * kept


def _images(model, pixels, at_once):
    """The patches of two images, seen at once or one image after the other."""
    import torch

    def outputs():
        found = []
        for part in pixels.chunk(2 // at_once):
            grid = torch.tensor([[1, _PATCHES, _PATCHES]] * at_once, device=pixels.device)
            given = model(part, grid)
            given = getattr(given, "pooler_output", None) if hasattr(given, "last_hidden_state") else given
            found.append(given[0] if isinstance(given, tuple) else given)
        return torch.cat(found)

    return outputs


def _trained(model, outputs, weights):
    import torch

    model.train()
    model.zero_grad(set_to_none=True)
    found = outputs()
    (found * weights).sum().backward()
    gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in model.parameters()]
    return flat([found]), flat(gradients)
