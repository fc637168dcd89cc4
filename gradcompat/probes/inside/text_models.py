"""Tiny causal language models with rotary embeddings, of many families, for long sequences."""

from .skipping import Skip

_SETTINGS = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "pad_token_id": 0,
}
_FAMILIES = {
    "llama": ("Llama", {}),
    "gemma": ("Gemma", {"head_dim": 32}),
    "gemma2": ("Gemma2", {"head_dim": 32}),
    "mistral": ("Mistral", {}),
    "mixtral": ("Mixtral", {"num_local_experts": 2}),
    "qwen2": ("Qwen2", {}),
    "phi3": ("Phi3", {}),
    "qwen3": ("Qwen3", {"head_dim": 32}),
    "cohere": ("Cohere", {}),
    "glm": ("Glm", {"head_dim": 32}),
    "granite": ("Granite", {}),
    "olmo": ("Olmo", {}),
    "starcoder2": ("Starcoder2", {}),
    "stablelm": ("StableLm", {}),
    "gpt_neox": ("GPTNeoX", {"rotary_pct": 1.0}),
}


def build(family, seed, attention="eager"):
    """A model of that family in evaluation mode, with a chosen way to compute attention."""
    import torch
    import transformers

    name, settings = _FAMILIES[family]
    if not hasattr(transformers, name + "ForCausalLM"):
        raise Skip("this release has no %sForCausalLM" % name)
    config = getattr(transformers, name + "Config")(**_SETTINGS, **settings, use_cache=False)
    config._attn_implementation = attention
    torch.manual_seed(seed)
    return getattr(transformers, name + "ForCausalLM")(config).eval()
