"""What the command lines of verl's trainers say, where Hydra composes the rest: ``data.multiturn.enable=true``."""

from __future__ import annotations

from gradcompat.model.environment import SettingValue
from gradcompat.scanners.key_mapping import Feed, Feeds

_CHECKPOINTING = Feed("training.gradient_checkpointing")
_LORA = Feed("peft.method", {"0": "none"}, given="lora")
_NAME = Feed("model.name")
_STRATEGY = Feed("distributed.strategy", {"fsdp": "fsdp", "fsdp2": "fsdp", "megatron": "megatron_lm"})
_FSDP = Feed("fsdp.version", {"fsdp": 1, "fsdp2": 2}, only=True)
_ADVANTAGE = "algorithm.adv_estimator"

FEEDS: Feeds = {
    "data.multiturn.enable": Feed("data.multi_turn"),
    "data.max_length": Feed("data.sequence_length"),
    "model.partial_pretrain": _NAME,
    "model.path": _NAME,
    "model.lora_rank": _LORA,
    "model.enable_gradient_checkpointing": _CHECKPOINTING,
    "model.strategy": (_STRATEGY, _FSDP),
    "trainer.total_epochs": Feed("training.num_train_epochs"),
    _ADVANTAGE: Feed("training.method", {"gae": "ppo", "grpo": "grpo", "rloo": "rloo"}, only=True),
    "actor_rollout_ref.model.path": _NAME,
    "actor_rollout_ref.model.lora_rank": _LORA,
    "actor_rollout_ref.model.enable_gradient_checkpointing": _CHECKPOINTING,
    "actor_rollout_ref.actor.strategy": (_STRATEGY, _FSDP),
}

FRAMEWORK = "verl"


def usual(trainer: str, given: frozenset[str]) -> dict[str, SettingValue]:
    """What a trainer does where its command line does not say.

    Args:
        trainer: the last part of its module.
        given: the names on the command line.
    """
    if trainer == "main_ppo":
        return {} if _ADVANTAGE in given else {"training.method": "ppo"}
    # The trainer of the engine takes conversations alone; sft_trainer.yaml has `multiturn.enable: false` for the other.
    return {} if "data.multiturn.enable" in given else {"data.multi_turn": trainer != "fsdp_sft_trainer"}
