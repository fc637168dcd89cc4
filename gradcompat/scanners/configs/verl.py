"""verl's trainers, which take overrides of a Hydra config on their command line, and such configs of one's own."""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.configs.flat import Config, read_config, run_of, settings_of
from gradcompat.scanners.configs.nested import stated as stated_by
from gradcompat.scanners.key_mapping import SEVERAL, Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace

_LORA = Feed("peft.method", {"0": "none"}, given="lora")
_STRATEGY = Feed("distributed.strategy", {"fsdp": "fsdp", "fsdp2": "fsdp", "megatron": "megatron_lm"})
_MEGATRON = Feed("distributed.strategy", given="megatron_lm")  # options that its other engine does not have
_ULYSSES = Feed("distributed.sequence_split", dict.fromkeys(SEVERAL, "ulysses"), only=True)
_ADVANTAGES = Feed("training.advantage_estimator")
_FSDP = Feed("fsdp.version", {"fsdp": 1, "fsdp2": 2}, only=True)

FEEDS: Feeds = {
    "data.multiturn.enable": Feed("data.multi_turn"),
    "data.micro_batch_size_per_gpu": Feed("training.per_device_train_batch_size"),
    "data.max_length": Feed("data.sequence_length"),
    "model.partial_pretrain": Feed("model.name"),
    "model.path": Feed("model.name"),
    "model.lora_rank": _LORA,
    "model.strategy": (_STRATEGY, _FSDP),
    "model.enable_gradient_checkpointing": Feed("training.gradient_checkpointing"),
    "actor_rollout_ref.model.path": Feed("model.name"),
    "actor_rollout_ref.model.enable_gradient_checkpointing": Feed("training.gradient_checkpointing"),
    "actor_rollout_ref.model.lora_rank": _LORA,
    "actor_rollout_ref.model.lora.rank": _LORA,
    "actor_rollout_ref.actor.strategy": (_STRATEGY, _FSDP),
    "actor_rollout_ref.actor.megatron.tensor_model_parallel_size": _MEGATRON,
    "actor_rollout_ref.actor.megatron.pipeline_model_parallel_size": _MEGATRON,
    "actor_rollout_ref.actor.optim.warmup_style": Feed("optimizer.scheduler"),
    "actor_rollout_ref.actor.optim.lr_scheduler_type": Feed("optimizer.scheduler"),  # what it is called since 0.6
    "actor_rollout_ref.rollout.temperature": Feed("training.temperature"),
    "actor_rollout_ref.rollout.name": Feed(
        "training.use_vllm", {"vllm": True, "hf": False, "sglang": False}, only=True
    ),
    "actor_rollout_ref.rollout.mode": Feed("training.async_rollout", {"async": True, "sync": False}, only=True),
    "actor_rollout_ref.rollout.free_cache_engine": Feed("training.free_cache_engine"),
    "actor_rollout_ref.rollout.checkpoint_engine.backend": Feed(
        "training.separate_rollout", {"naive": False}, given=True
    ),
    "actor_rollout_ref.model.lora.merge": Feed("training.vllm_enable_lora", {"true": False, "false": True}),
    "actor_rollout_ref.rollout.multi_turn.enable": Feed("data.multi_turn"),
    "actor_rollout_ref.model.use_fused_kernels": Feed("training.fused_log_probs"),
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size": _ULYSSES,
    "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size": _ULYSSES,
    "algorithm.adv_estimator": _ADVANTAGES,
    "data.shuffle": Feed("data.shuffle"),
    "data.sampler.class_path": Feed("data.own_sampler", {"null": False}, given=True),
    "data.custom_cls.path": Feed("data.own_dataset", {"null": False}, given=True),
    "trainer.total_epochs": Feed("training.num_train_epochs"),
    # With `auto`, it hangs on what lies in the folder.
    "trainer.resume_mode": Feed(
        "training.resume_from_checkpoint", {"disable": False, "resume_path": True, "auto": None}
    ),
}

SFT = "fsdp_sft_trainer"
_ENGINES = ("sft_trainer", "sft_trainer_ray")  # which take conversations alone
# Keys of its SFT trainer's config that no other tool has.
_OF_SFT = frozenset({"model.partial_pretrain", "data.multiturn.enable"})
_ACTOR = "actor_rollout_ref.actor"
_ESTIMATOR, _TURNS = "algorithm.adv_estimator", "actor_rollout_ref.rollout.multi_turn.enable"
# In config/sft_trainer.yaml of 0.5.0; the mini-batch of PPO in ppo_trainer.yaml has as many.
_BATCH, _MICRO_BATCH = 256, 4
# Options that name a folder of configs beside verl's own.
_FOLDERS = frozenset({"config_path", "cp", "config_dir", "cd"})
_OWN_FOLDER = frozenset({"config", "./config"})  # which is that of verl, as Hydra counts from the module of the trainer
# What a config says of the trainer itself; on a command line it is seen with what verl has where nobody asks.
_OF_CONFIG: Feeds = {
    **FEEDS,
    _ESTIMATOR: (Feed("training.method", {"grpo": "grpo"}, given="ppo"), _ADVANTAGES),
    f"{_ACTOR}.loss_agg_mode": Feed("training.loss_type"),
}


def scan(document: Document) -> Context:
    """What a config for a trainer of verl's says: a run for SFT, and for PPO a part of the run whose command names it.

    Raises:
        Malformed: if it is no such config, or no YAML.
    """
    config = read_config(document, _OF_CONFIG)
    if "actor_rollout_ref" not in config.top:
        return _of_sft(config, document)
    if not {"data", "algorithm", "trainer"} & config.top.keys():
        raise Unrecognised("is no config of verl's PPO trainer", path=document.path)
    settings, skipped = stated_by(config, _OF_CONFIG)
    return replace(run_of(config, "verl", settings, skipped), run=False)


def _of_sft(config: Config, document: Document) -> Context:
    if _OF_SFT.isdisjoint(entry.name for entry in config.entries):
        raise Unrecognised("is not a config of verl's trainers", path=document.path)
    settings, skipped = settings_of(config, FEEDS)
    place = Location(path=document.path)
    driven = {"training.framework": "verl", "training.method": "sft"}
    settings += [Setting(key=key, value=value, location=place) for key, value in driven.items()]
    return run_of(config, "verl", settings, skipped)


def stated(trainer: str, overrides: Mapping[str, object]) -> dict[str, str | int]:
    """What a trainer, by the name of its module, and the overrides together say; what is not known is left out."""
    if any(str(overrides[key]) not in _OWN_FOLDER for key in _FOLDERS & overrides.keys()):
        # What a config has there verl has not.
        method = _method(trainer, overrides) if trainer in (SFT, *_ENGINES) or _ESTIMATOR in overrides else None
        return {"training.framework": "verl", **({} if method is None else {"training.method": method})}
    said: dict[str, str | int | None] = {
        "training.framework": "verl",
        "training.method": _method(trainer, overrides),
        "distributed.strategy": "megatron_lm" if "megatron" in str(overrides.get("config_name", "")) else None,
        # Engines that sample have processors of their own, unless the command line says otherwise.
        "training.separate_rollout": True if "async" in trainer or "off_policy" in trainer else None,
        "training.dynamic_critic": _dynamic_critic(overrides),
        "training.loss_type": _averaging(trainer, overrides),
        "optimizer.scheduler": _schedule(trainer, overrides),
        "training.gradient_accumulation_steps": _actor_micro_batches(trainer, overrides),
        "training.critic_accumulation_steps": _critic_micro_batches(trainer, overrides),
        "data.multi_turn": _multi_turn(trainer, overrides),
    }
    return {key: value for key, value in said.items() if value is not None}


def _method(trainer: str, overrides: Mapping[str, object]) -> str:
    if trainer == SFT or trainer in _ENGINES:
        return "sft"
    return "grpo" if overrides.get(_ESTIMATOR) == "grpo" else "ppo"


def _multi_turn(trainer: str, overrides: Mapping[str, object]) -> bool | None:
    """Are there conversations? The examples of some trainers are, and rollouts of the others where it is asked for."""
    if trainer in _ENGINES:
        return True
    return None if trainer == SFT or _TURNS in overrides else False


def _dynamic_critic(overrides: Mapping[str, object]) -> bool | None:
    """Are the critic's micro-batches cut by their tokens? None where nothing is said of that.

    It does as the actor does unless it is told otherwise; only one estimator of advantages has a critic. Whether
    Megatron's critic asks for it depends on the release: 0.3.0.post1 has the option in its config, and no use of it.
    """
    if _is_megatron(overrides):
        return None
    said = overrides.get("critic.use_dynamic_bsz", overrides.get("actor_rollout_ref.actor.use_dynamic_bsz"))
    if said is None:
        return None
    return overrides.get(_ESTIMATOR, "gae") == "gae" and str(said).lower() == "true"


def _averaging(trainer: str, overrides: Mapping[str, object]) -> str | None:
    """How FSDP's actor makes one loss of those of the tokens; None for the SFT trainers, and for the other engines."""
    if not _has_fsdp_actor(trainer, overrides):
        return None
    return str(overrides.get(f"{_ACTOR}.loss_agg_mode", "token-mean"))


def _schedule(trainer: str, overrides: Mapping[str, object]) -> str | None:
    """The schedule of FSDP's actor where the command line has none; None where it has, and for other engines."""
    asked = any(f"{_ACTOR}.optim.{key}" in overrides for key in ("warmup_style", "lr_scheduler_type"))
    return None if asked or not _has_fsdp_actor(trainer, overrides) else "constant"


def _actor_micro_batches(trainer: str, overrides: Mapping[str, object]) -> int | None:
    """How many micro-batches FSDP's actor puts into a step; None where that is not known.

    Its mini-batch counts prompts, of which each has several answers, and is that of all processes.
    """
    if not _has_fsdp_actor(trainer, overrides) or str(overrides.get(f"{_ACTOR}.use_dynamic_bsz")).lower() == "true":
        return None
    return _micro_batches_of(_ACTOR, overrides)


def _critic_micro_batches(trainer: str, overrides: Mapping[str, object]) -> int | None:
    """How many micro-batches PPO's critic puts into a step, 0 where there is none; None where that is not known.

    What is not said of the critic is as it is for the actor.
    """
    if _method(trainer, overrides) != "ppo":
        return None
    if overrides.get(_ESTIMATOR, "gae") != "gae":
        return 0
    if _is_megatron(overrides) or _dynamic_critic(overrides):
        return None
    return _micro_batches_of("critic", overrides)


def _micro_batches_of(who: str, overrides: Mapping[str, object]) -> int | None:
    of_actor = overrides.get(f"{_ACTOR}.ppo_mini_batch_size", _BATCH)
    prompts = _number(overrides.get(f"{who}.ppo_mini_batch_size", of_actor))
    answers = _number(overrides.get("actor_rollout_ref.rollout.n", 1))
    processors = _number(overrides.get("trainer.n_gpus_per_node", 8))
    nodes = _number(overrides.get("trainer.nnodes", 1))
    micro = _number(overrides.get(f"{who}.ppo_micro_batch_size_per_gpu"))
    shared = (f"{who}.ulysses_sequence_parallel_size", f"{who}.fsdp_config.ulysses_sequence_parallel_size")
    if not overrides.keys().isdisjoint(shared) or not (prompts and answers and processors and nodes and micro):
        return None
    return max(1, prompts * answers // (processors * nodes) // micro)


def _has_fsdp_actor(trainer: str, overrides: Mapping[str, object]) -> bool:
    """Is it the actor of FSDP's workers that learns? The worker of the new engine has another."""
    asked = str(overrides.get("trainer.use_legacy_worker_impl", "auto"))
    return not (trainer == SFT or trainer in _ENGINES or _is_megatron(overrides) or asked == "disable")


def _is_megatron(overrides: Mapping[str, object]) -> bool:
    """Is the engine of actor and critic Megatron, by what is said of either, or by the config that is chosen?"""
    strategies = (overrides.get("critic.strategy"), overrides.get("actor_rollout_ref.actor.strategy"))
    return "megatron" in strategies or "megatron" in str(overrides.get("config_name", ""))


def micro_batches(overrides: Mapping[str, object], processes: object) -> int | None:
    """How many micro-batches the SFT trainer puts into a step; None where that is not known.

    Its batch is that of all processes, which share it out. A config that is named may have another one.
    """
    if "config_name" in overrides:
        return None
    batch = _number(overrides.get("data.train_batch_size", _BATCH))
    micro = _number(overrides.get("data.micro_batch_size_per_gpu", _MICRO_BATCH))
    sharing = _number(overrides.get("ulysses_sequence_parallel_size", 1))
    if batch is None or micro is None or sharing is None or not isinstance(processes, int) or processes < sharing:
        return None
    return max(1, -(-batch // (processes // sharing) // micro))


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else None
