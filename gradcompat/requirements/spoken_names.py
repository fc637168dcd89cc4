"""Under which names people and libraries speak of the packages of training stacks: ``PyTorch``, ``Flash Attention``.

Where a text has no form of its own, a version is believed only beside one of these.
"""

from __future__ import annotations

from gradcompat.requirements.names import normalise

_OTHERWISE = {
    "flash-attention": "flash-attn",
    "hf-hub": "huggingface-hub",
    "llama-factory": "llamafactory",
    "pytorch": "torch",
    "swift": "ms-swift",
}
_AS_THEY_ARE = (
    *("accelerate", "axolotl", "bitsandbytes", "datasets", "deepspeed", "diffusers", "flash-attn", "huggingface-hub"),
    *("jax", "lightning", "liger-kernel", "llamafactory", "llm-blender", "megatron-core", "mmcv", "mmengine"),
    *("ms-swift", "numpy", "openrlhf", "peft", "pytorch-lightning", "safetensors", "sentence-transformers"),
    *("tokenizers", "torch", "torchao", "torchaudio", "torchtune", "torchvision", "transformer-engine"),
    *("transformers", "triton", "trl", "unsloth", "verl", "vllm", "wandb", "xformers", "xtuner"),
)
# `Version: …`, `**Package versions:** …`, `Env: …`: what a list in one line is headed, as a regular expression.
HEADING = (
    r"[*_`#]*(?:(?:package|library|software|python package) )?"
    r"(?:versions?|env(?:ironment)?|packages|libraries|dependencies|setup|system(?: info)?)[*_`]*[ \t]*:[*_`]*[ \t]*"
)
PACKAGES = {**{name: name for name in _AS_THEY_ARE}, **_OTHERWISE}


def package_called(name: str) -> str | None:
    """The package that is called so, in whatever spelling; None for a word that is no such name.

    >>> package_called("Flash Attention")
    'flash-attn'
    """
    return PACKAGES.get(normalise("-".join(name.split())))


def pattern_of_names() -> str:
    """A regular expression of every name with any separator, for texts in any case; the longest names first."""
    names = sorted(PACKAGES, key=len, reverse=True)
    return "(?i:" + "|".join(name.replace("-", "[-_ ]") for name in names) + ")"
