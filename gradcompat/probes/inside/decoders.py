"""Tiny causal language models of many families, with a chosen way to compute attention."""

from . import models
from .skipping import Skip

_BERT = {
    "vocab_size": models.VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "is_decoder": True,
    "pad_token_id": 0,
}
_TEXT = {
    "vocab_size": models.VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}
# Family → the beginning of its classes' names, the end of its model's, and its configuration.
_FAMILIES = {
    "llama": ("Llama", "ForCausalLM", _TEXT),
    "mistral": ("Mistral", "ForCausalLM", {**_TEXT, "sliding_window": None}),
    "qwen2": ("Qwen2", "ForCausalLM", _TEXT),
    "doge": ("Doge", "ForCausalLM", _TEXT),
    "gpt2": (
        "GPT2",
        "LMHeadModel",
        {"vocab_size": models.VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128},
    ),
    "bert": ("Bert", "LMHeadModel", _BERT),
    "roformer": ("RoFormer", "ForCausalLM", {**_BERT, "embedding_size": 32}),
    "big_bird": ("BigBird", "ForCausalLM", {**_BERT, "attention_type": "original_full"}),
    "rembert": ("RemBert", "ForCausalLM", {**_BERT, "input_embedding_size": 32, "output_embedding_size": 32}),
    "megatron_bert": ("MegatronBert", "ForCausalLM", _BERT),
}


def build(family, attention, seed, cache="off"):
    """A model of that family in evaluation mode; ``attention``: eager, sdpa, or default for the release's choice.

    Evaluation switches dropout off and nothing else: the masks are those of training. Models fill a cache of keys and
    values unless they are told not to, as gradient checkpointing and newer Trainers do; ``cache``: off, or default.
    """
    import torch
    import transformers

    name, ending, settings = _FAMILIES[family]
    if not hasattr(transformers, name + ending):
        raise Skip("this release has no %s%s" % (name, ending))
    config = getattr(transformers, name + "Config")(**settings, **({"use_cache": False} if cache == "off" else {}))
    if attention != "default":
        config._attn_implementation = attention
    torch.manual_seed(seed)
    try:
        model = getattr(transformers, name + ending)(config).eval()
    except (ValueError, KeyError) as error:
        if attention == "default":
            raise
        raise Skip("this release has no %s attention for %s" % (attention, name)) from error
    used = getattr(model.config, "_attn_implementation", "eager")  # until 4.36 there was nothing to choose
    if attention not in ("default", used):
        raise Skip("this release has no %s attention for %s" % (attention, name))
    return model
