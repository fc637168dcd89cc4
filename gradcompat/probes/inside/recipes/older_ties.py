"""Is the output layer of a vision-language checkpoint from transformers 4 tied where only the text config says so?

The folder is written as 4.57 would have: ``text_config`` ties, the top of the configuration is silent or denies it, and
the file holds no output layer. The control is an untied model, whose output layer is in the file.
"""

import glob
import json
import os
import tempfile

from ..skipping import Skip

_TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 128,
}
_VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 8,
}

# Kind: the class without its endings, the language model, the vision model, and what 4.57 wrote at the top.
_KINDS = {
    "llava": ("Llava", "llama", "clip_vision_model", None),
    "llava_next": ("LlavaNext", "llama", "clip_vision_model", False),
    "llava_onevision": ("LlavaOnevision", "qwen2", "siglip_vision_model", False),
    "vip_llava": ("VipLlava", "llama", "clip_vision_model", None),
    "mistral3": ("Mistral3", "mistral", "pixtral", None),
    "internvl": ("InternVL", "qwen2", "internvl_vision", None),
    "smolvlm": ("SmolVLM", "llama", "smolvlm_vision", False),
    "idefics3": ("Idefics3", "llama", "idefics3_vision", False),
    "qwen2_vl": ("Qwen2VL", "qwen2_vl_text", "qwen2_vl", None),
    "qwen2_5_vl": ("Qwen2_5_VL", "qwen2_5_vl_text", "qwen2_5_vl", None),
}
_QWEN_TEXT = {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}
_QWEN_VISION = {
    "qwen2_vl": {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4},
    "qwen2_5_vl": {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 4, "out_hidden_size": 32},
}


def measure(parameters, device, seed):  # noqa: ARG001  # files are loaded into main memory
    """``model``: one of the kinds; with ``plant`` no part of the configuration ties."""
    import torch

    kind = parameters.get("model", "llava")
    model = _model(kind, True, seed)
    folder = _saved(model)
    _as_transformers_4_wrote_it(folder, _KINDS[kind][3], not parameters.get("plant"))
    loaded = type(model).from_pretrained(folder)
    untied = _model(kind, False, seed)
    again = type(untied).from_pretrained(_saved(untied))
    return {
        "head_is_embedding": int(torch.equal(_head(loaded), loaded.get_input_embeddings().weight)),
        "control_head_kept": int(torch.equal(_head(again), _head(untied))),
    }


def _head(model):
    return model.get_output_embeddings().weight


def _model(kind, tie, seed):
    import torch
    import transformers

    name, text, vision, _ = _KINDS[kind]
    config = getattr(transformers, name + "Config", None)
    made = getattr(transformers, name + "ForConditionalGeneration", None)
    if config is None or made is None:
        raise Skip("this release has no %s" % name)
    torch.manual_seed(seed)
    qwen = kind in _QWEN_VISION
    written = config(
        text_config=dict(_TEXT, model_type=text, tie_word_embeddings=tie, **(_QWEN_TEXT if qwen else {})),
        vision_config=dict(_QWEN_VISION[kind] if qwen else _VISION, model_type=vision),
        tie_word_embeddings=tie,
    )
    return made(written)


def _saved(model):
    folder = tempfile.mkdtemp(dir=".")
    model.save_pretrained(folder)
    return folder


def _as_transformers_4_wrote_it(folder, top, ties):
    from safetensors.torch import load_file, save_file

    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config.pop("tie_word_embeddings", None)
    config["text_config"]["tie_word_embeddings"] = ties
    if top is not None or not ties:
        config["tie_word_embeddings"] = False
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    (path,) = glob.glob(os.path.join(folder, "*.safetensors"))
    kept = {name: tensor for name, tensor in load_file(path).items() if "lm_head" not in name}
    save_file(kept, path, metadata={"format": "pt"})
