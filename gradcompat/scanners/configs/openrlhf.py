"""OpenRLHF's trainers, which are modules with a command line of their own: what it says, and what it leaves out."""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.scanners.key_mapping import Feed, Feeds

# Up to 0.10.1; from 0.10.2 on the options have dots (`--actor.model_name_or_path`), and are not read.
FEEDS: Feeds = {
    "pretrain": Feed("model.name"),
    "packing_samples": Feed("training.packing"),
    "micro_train_batch_size": Feed("training.per_device_train_batch_size"),
    "max_epochs": Feed("training.num_train_epochs"),
    "gradient_checkpointing": Feed("training.gradient_checkpointing"),
    "bf16": Feed("precision.mode", {"true": "bf16"}, only=True),
    "zero_stage": Feed("deepspeed.zero_stage"),
    "lora_rank": Feed("peft.method", {"0": "none"}, given="lora"),
    "load_in_4bit": Feed("quantization.method", {"true": "bitsandbytes"}, only=True),
    "temperature": Feed("training.temperature"),
    "advantage_estimator": Feed("training.advantage_estimator"),
}

_METHODS = {"train_sft": "sft", "train_dpo": "dpo", "train_kto": "kto", "train_rm": "reward"}
_PPO = frozenset({"train_ppo", "train_ppo_ray"})
_MICRO_BATCH = 4  # of PPO, in 0.3.7, 0.7.1 and 0.9.10
_TEMPERATURE = 1.0  # cli/train_ppo_ray.py in 0.3.7, 0.5.9, 0.6.1 and 0.9.10


def stated(module: str, given: Mapping[str, object]) -> dict[str, str | float]:
    """What a module of ``openrlhf.cli`` and its options together say; what is not known is left out."""
    said: dict[str, str | float | None] = {
        "training.framework": "openrlhf",
        "training.method": _method(module, given),
        "training.temperature": None if module not in _PPO or "temperature" in given else _TEMPERATURE,
        "training.per_device_train_batch_size": None
        if module not in _PPO or "micro_train_batch_size" in given
        else _MICRO_BATCH,
        "data.multi_turn": None if module != "train_sft" else "multiturn" in given,
        "training.packing": None if module != "train_sft" or "packing_samples" in given else False,
    }
    return {key: value for key, value in said.items() if value is not None}


def _method(module: str, given: Mapping[str, object]) -> str | None:
    if module in _PPO:
        return "grpo" if given.get("advantage_estimator") == "group_norm" else "ppo"
    if module == "train_sft" and "pretrain_mode" in given:
        return "pretrain"
    return _METHODS.get(module)
