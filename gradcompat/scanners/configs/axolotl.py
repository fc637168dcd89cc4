"""axolotl's configs: names of its own for much of what transformers' Trainer takes, and switches for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.code_use import CodeUse
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.adapter_targets import are_of_attention
from gradcompat.scanners.configs import training_arguments
from gradcompat.scanners.configs.flat import Config, key_places, read_config, rows_of, run_of, settings_of, values_of
from gradcompat.scanners.configs.tool_defaults import imports_of, left_to_tool
from gradcompat.scanners.configs.training_arguments import ATTENTION, FSDP_CONFIG, OPTIMIZER
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY

_LIGER = Feed("training.use_liger_kernel", {"true": True}, only=True)

FEEDS: Feeds = {
    # Of the Trainer's arguments only those that axolotl has under the same name.
    **{
        name: training_arguments.FEEDS[name]
        for name in (
            *("gradient_accumulation_steps", "gradient_checkpointing_kwargs.use_reentrant", "max_grad_norm", "seed"),
            *("resume_from_checkpoint", "neftune_noise_alpha", "dataloader_num_workers", "torch_compile"),
            *("torch_compile_backend", "torch_compile_mode", "bf16", "fp16", "tf32", "weight_decay", "deepspeed"),
            *("average_tokens_across_devices", "label_smoothing_factor", "torch_dtype", "load_in_8bit", "load_in_4bit"),
            *("lora_modules_to_save", "lora_target_parameters", "streaming", "fsdp", "fsdp.full_shard"),
            "optim_args",
            *("fsdp.shard_grad_op", "fsdp.hybrid_shard", "fsdp.no_shard", "fsdp.auto_wrap", "attn_implementation"),
        )
    },
    **FSDP_CONFIG,
    "base_model": Feed("model.name"),
    "model_type": Feed("model.architecture"),
    "micro_batch_size": Feed("training.per_device_train_batch_size"),
    "num_epochs": Feed("training.num_train_epochs"),
    "gradient_checkpointing": Feed(
        "training.gradient_checkpointing",
        dict.fromkeys(("unsloth", "offload", "offload_disk"), True),
    ),
    "auto_resume_from_checkpoints": Feed("training.resume_from_checkpoint", {"true": None}, only=True),
    "adapter": Feed("peft.method", {"qlora": "lora"}),
    "peft_layers_to_transform": Feed("peft.layers_to_transform", given=True),
    "peft_trainable_token_indices": Feed("peft.trainable_tokens", given=True),
    # It evaluates wherever it has something to evaluate on, or says how often.
    **dict.fromkeys(("eval_strategy", "evaluation_strategy"), training_arguments.EVALUATES),
    **dict.fromkeys(
        ("val_set_size", "evals_per_epoch"), Feed("training.evaluates", {"0": None, "0.0": None}, given=True)
    ),
    "eval_steps": Feed("training.evaluates", given=True),
    "test_datasets": Feed("training.evaluates", given=True),
    "kd_ce_alpha": Feed("training.kd_ce_alpha"),
    "loraplus_lr_ratio": Feed("peft.optimizer", given="loraplus"),
    # Which parameters these patterns free is known only with the model at hand.
    "unfrozen_parameters": Feed("training.frozen_embeddings", {"auto": None}, only=True),
    "gptq": Feed("quantization.method", {"true": "gptq"}, only=True),
    "bnb_config_kwargs.bnb_4bit_use_double_quant": Feed("quantization.double_quant"),
    # It asks for bfloat16 by itself, and for float32 beside ZeRO-3.
    "load_in_4bit": (*training_arguments.BITS_4, Feed("quantization.float_storage", {"true": True}, only=True)),
    "bnb_config_kwargs.bnb_4bit_quant_storage": training_arguments.STORAGE,
    "bfloat16": Feed("precision.mode", {"true": "bf16"}, only=True),
    "float16": Feed("precision.mode", {"true": "fp16"}, only=True),
    "fp8": Feed("precision.mode", {"true": "fp8"}, only=True),
    "optimizer": OPTIMIZER,
    "lr_scheduler": Feed("optimizer.scheduler"),
    "warmup_steps": Feed("optimizer.warmup_steps"),
    "warmup_ratio": Feed("optimizer.warmup_steps", {"0": 0, "0.0": 0}, only=True),
    "fsdp_version": Feed("fsdp.version"),
    "fsdp_config": Feed("distributed.strategy", given="fsdp"),  # `fsdp` beside it has gone with FSDP 2
    "flash_attention": Feed("model.attn_implementation", {"true": "flash_attention_2"}, only=True),
    "sdp_attention": Feed("model.attn_implementation", {"true": "sdpa"}, only=True),
    "eager_attention": Feed("model.attn_implementation", {"true": "eager"}, only=True),
    "flex_attention": Feed("model.attn_implementation", {"true": "flex_attention"}, only=True),
    "sample_packing": Feed("training.packing"),
    "sample_packing_sequentially": Feed("training.packing_strategy", {"true": "sequential"}, only=True),
    "sequence_len": Feed("data.sequence_length"),
    # What TRL calls its trainers: `ipo` is a loss of the DPO trainer, `simpo` one of the CPO trainer.
    "rl": Feed(
        "training.method",
        {"ipo": "dpo", "dpo_pair": "dpo", "kto_pair": "kto", "simpo": "cpo", "true": None},
    ),
    "reward_model": Feed("training.method", {"true": "reward"}, only=True),
    "pretraining_dataset": Feed("training.method", given="pretrain"),
    "liger_rope": _LIGER,
    "liger_rms_norm": _LIGER,
    "liger_layer_norm": _LIGER,
    "liger_glu_activation": _LIGER,
    "liger_cross_entropy": _LIGER,
    "liger_fused_linear_cross_entropy": _LIGER,
    **{
        f"{parent}.{name}": feed
        for parent in ("model_config", "overrides_of_model_config", "overrides_of_model_kwargs")
        for name, feed in {
            "output_router_logits": Feed("model.output_router_logits"),
            "use_cache": Feed("model.use_cache"),
            "attn_implementation": ATTENTION,
        }.items()
    },
}

# `base_model` is its own word; one of these has to stand beside it.
_OWN = frozenset(
    {
        *("micro_batch_size", "sequence_len", "num_epochs", "sample_packing", "dataset_prepared_path", "val_set_size"),
        *("pretraining_dataset", "adapter", "lora_target_linear"),
    }
)
# The model of pydantic that a config fills, today's name and that of releases below 0.8; and its plugins, whose models
# are joined with it, some of them unasked.
_MODEL = "utils.schemas.config.AxolotlInputConfig"
_PLUGINS = "axolotl.integrations."
# Keys of a data set that choose turns, and the names of templates whose turns do not each end with the
# end-of-sequence token.
_TURNS = frozenset({"roles_to_train", "train_on_eos", "message_field_training", "message_field_training_detail"})
_TOKENIZERS = "tokenizer_default"
_CLOSES_ANSWERS_ALONE = frozenset(
    {
        *("mistral_v1", "mistral_v2v3", "mistral_v3_tekken", "alpaca", "deepseek_v2"),
        *("metharme", "phi_35", "exaone"),
    }
)
_PLUGIN = lazy_pattern(r"(?m)^[ \t]*-[ \t]*[\"']?(\w+(?:\.\w+)*\.\w*Plugin)\b")
_DISTILLATION = f"{_PLUGINS}kd."
# Trainers with a loss of their own, which plugins put in; one of them where a key asks for it.
_TRAINERS = {
    f"{_DISTILLATION}trainer.AxolotlKDTrainer": "kd_trainer",
    f"{_PLUGINS}diffusion.trainer.DiffusionTrainer": None,
}
_BESIDE = ("axolotl.utils.config.models.input.v0_4_1.AxolotlInputConfig", f"{_PLUGINS}*")


def scan(document: Document) -> Context:
    """The run that an axolotl config describes.

    Raises:
        Malformed: if it is no axolotl config, or no YAML.
    """
    config = read_config(document, FEEDS)
    if not isinstance(config.top.get("base_model"), str) or len(_OWN & config.top.keys()) < 2:
        raise Unrecognised("is not an axolotl config", path=document.path)
    top = config.top
    config = replace(
        config, entries=tuple(replace(entry, value=_value(entry.name, entry.value)) for entry in config.entries)
    )
    settings, skipped = settings_of(config, FEEDS)
    if not _distils(config):
        settings = [setting for setting in settings if setting.key != "training.kd_ce_alpha"]
    if top.get("warmup_steps") or top.get("warmup_ratio"):
        # A zero of one counts only where the other is no number of steps either.
        settings = [one for one in settings if one.key != "optimizer.warmup_steps" or one.value != 0]
    if not any(top.get(name) for name in ("rl", "reward_model", "process_reward_model")):
        # Whatever else it says: this loop is transformers' own, in a class derived from it.
        place = Location(path=document.path)
        settings.append(Setting(key="training.framework", value="transformers.Trainer", location=place))
    targets = values_of(config, "lora_target_modules")
    if targets and not top.get("lora_target_linear"):
        place = key_places(config)["lora_target_modules"]
        settings.append(Setting(key="peft.attention_only", value=are_of_attention(targets), location=place))
    named = _names_turn_end(config)
    if named is not None:
        place = key_places(config)["datasets"]
        settings.append(Setting(key="data.turn_end_named", value=named, location=place))
    template = _template(config)
    if template is not None:
        place = key_places(config)["datasets"]
        settings.append(Setting(key="data.chat_template", value=template, location=place))
    closed = _closes_answers_alone(config)
    if closed is not None:
        place = key_places(config)["datasets"]
        settings.append(Setting(key="data.eos_closes_answers_alone", value=closed, location=place))
    trainers = (name for name, key in _TRAINERS.items() if key is None or top.get(key))
    trainer = next((name for name in trainers if _has_plugin(config, name)), None)
    if trainer is not None:
        places = (key_places(config)["plugins"],)
        settings.append(Setting(key=SYMBOLS_KEY, value=(trainer,), location=places[0], places=places))
    settings += left_to_tool("axolotl", settings)
    own = any(not name.startswith(_PLUGINS) for name in _PLUGIN.findall(document.text))
    imported = imports_of("axolotl", top, own=own)
    return replace(run_of(config, "axolotl", settings, skipped), uses=tuple(_keys(config)), imported=imported)


def _has_plugin(config: Config, trainer: str) -> bool:
    """Is the plugin asked for that has this trainer?"""
    package = trainer.partition(".trainer.")[0]
    return any(str(name).startswith(f"{package}.") for name in values_of(config, "plugins") or ())


def _distils(config: Config) -> bool:
    """Is the plugin named that reads the keys of knowledge distillation, or one of the project's own?

    The plugin of axolotl puts its trainer in where `kd_trainer` says so alone.
    """
    plugins = values_of(config, "plugins")
    return plugins is None or any(
        not isinstance(name, str)
        or (name.startswith(_DISTILLATION) and bool(config.top.get("kd_trainer")))
        or not name.startswith(_PLUGINS)
        for name in plugins
    )


def _names_turn_end(config: Config) -> bool | None:
    """Does a config with conversations say which token ends a turn? It may also make that the tokenizer's own end."""
    types = [row.get("type") for row in rows_of(config, "datasets")]
    if config.top.get("rl") or not any(isinstance(one, str) and one.startswith("chat_template") for one in types):
        return None
    if config.top.get("processor_type"):
        return None  # the collator of images makes the labels, whatever ends a turn
    if config.top.get("eot_tokens") is not None:
        return True
    if config.top.get("chat_template_jinja") or any(
        row.get("chat_template_jinja") for row in rows_of(config, "datasets")
    ):
        return None  # which may end a turn with any token
    return None if {"special_tokens", "tokens"} & config.top.keys() else False


def _template(config: Config) -> str | None:
    """The chat template that all conversations of a config go through, whose labels its strategy makes."""
    if config.top.get("rl") or config.top.get("processor_type"):
        return None
    rows = [row for row in rows_of(config, "datasets") if str(row.get("type")).startswith("chat_template")]
    # The template of the whole config is put into the tokenizer, whose own one is gone then.
    whole = str(config.top.get("chat_template") or _TOKENIZERS)
    named = {whole if row.get("chat_template") in (None, _TOKENIZERS) else str(row["chat_template"]) for row in rows}
    return named.pop() if len(named) == 1 else None


def _closes_answers_alone(config: Config) -> bool | None:
    """Are chosen turns trained of a template that has the end-of-sequence token behind answers, and nowhere else?"""
    if config.top.get("rl") or config.top.get("processor_type"):
        return None
    tokenizer = config.top.get("tokenizer_config") or config.top["base_model"]
    template_of_mistral = str(tokenizer).startswith("mistralai/") and not config.top.get("chat_template_jinja")
    found: list[bool | None] = []
    for row in rows_of(config, "datasets"):
        kind = row.get("type")
        if isinstance(kind, str) and kind.startswith("chat_template") and any(row.get(key) for key in _TURNS):
            template = row.get("chat_template") or config.top.get("chat_template")
            if template is None or str(template).startswith(_TOKENIZERS):
                found.append(True if template_of_mistral else None)
            else:
                found.append(None if template == "jinja" else template in _CLOSES_ANSWERS_ALONE)
    return True if True in found else None if None in found or not found else False


def _keys(config: Config) -> Iterator[CodeUse]:
    """The keys that ask for something, unless a plugin that is not axolotl's own may take any of them."""
    plugins = values_of(config, "plugins")
    if plugins is None or not all(isinstance(name, str) and name.startswith(_PLUGINS) for name in plugins):
        return
    for key, place in key_places(config).items():
        if config.top.get(key) not in (None, False, ""):
            yield CodeUse(kind="key", module="axolotl", name=_MODEL, keyword=key, others=_BESIDE, location=place)


def _value(name: str, value: Any) -> Any:
    """What the table can take: not a pattern, and no class that stands for any."""
    if name == "unfrozen_parameters":
        return "auto" if value else None
    if name == "model_type" and isinstance(value, str) and value.startswith("Auto"):
        return None
    if name in ("rl", "adapter") and value is False:
        return None
    return value
