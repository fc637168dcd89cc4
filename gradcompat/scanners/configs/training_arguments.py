"""Keys of Hugging Face's training arguments, as configs, flags, keyword arguments and dumps have them in common.

``TrainingArguments`` and what TRL derives from it (SFTConfig, DPOConfig, GRPOConfig, …), TRL's ModelConfig, and the
arguments of PEFT and bitsandbytes that the scripts around them took over. Tools extend the table by their own keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from gradcompat.errors import Malformed
from gradcompat.formats import json_text
from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.model.release_question import ReleaseQuestion
from gradcompat.scanners.key_mapping import Feed, Feeds

# In the words of transformers' OptimizerNames; a name that is not here says nothing about where it comes from.
_LIBRARIES = {
    **dict.fromkeys(
        ("adamw_torch", "adamw_torch_fused", "adamw_torch_xla", "sgd", "adagrad", "rmsprop"),
        "torch",
    ),
    **dict.fromkeys(("adafactor", "adamw_hf"), "transformers"),
    **dict.fromkeys(
        (
            *("adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit", "paged_adamw_32bit"),
            *("ademamix", "ademamix_8bit", "paged_ademamix_8bit", "paged_ademamix_32bit"),
            *("lion_8bit", "lion_32bit", "paged_lion_8bit", "paged_lion_32bit"),
            *("rmsprop_bnb", "rmsprop_bnb_8bit", "rmsprop_bnb_32bit"),
        ),
        "bitsandbytes",
    ),
    "adamw_apex_fused": "apex",
    "adamw_torch_4bit": "torchao",
    "adamw_torch_8bit": "torchao",
}

OPTIMIZER = (
    Feed("optimizer.name", {"adamw_bnb_8bit": "adamw_8bit"}),
    Feed("optimizer.library", _LIBRARIES, only=True),
    Feed(
        "optimizer.fused",
        {"adamw_torch_fused": True, "adamw_apex_fused": True, "adamw_torch_npu_fused": True, "adamw_torch": False},
        only=True,
    ),
)

DTYPE = Feed("model.torch_dtype", {"auto": "auto"})
ATTENTION = Feed("model.attn_implementation", {"fa2": "flash_attention_2", "flash_attn": "flash_attention_2"})
# The router's loss counts nothing with this coefficient, whatever else says that it is computed.
ROUTER_COEFFICIENT = Feed("model.output_router_logits", {"0": False, "0.0": False}, only=True)
BITS_8 = (
    Feed("quantization.method", {"true": "bitsandbytes"}, only=True),
    Feed("quantization.bits", {"true": 8}, only=True),
)
BITS_4 = (
    Feed("quantization.method", {"true": "bitsandbytes"}, only=True),
    Feed("quantization.bits", {"true": 4}, only=True),
)
EVALUATES = Feed("training.evaluates", {"no": False, "none": False}, given=True)
# Whatever is not said to be bytes is a type of floating-point numbers.
STORAGE = Feed("quantization.float_storage", {"uint8": False, "torch.uint8": False}, given=True)
_NAMED_DTYPES = frozenset({"bfloat16", "float16", "float32"})
WRAPPED = {"transformer_based_wrap": True, "size_based_wrap": True, "no_wrap": False}

# FSDP's options below `fsdp_config`, with and without the prefix that accelerate's own names have.
_FSDP: Feeds = {
    "version": Feed("fsdp.version"),
    "sharding_strategy": Feed(
        "fsdp.sharding_strategy",
        {
            "1": "FULL_SHARD",
            "2": "SHARD_GRAD_OP",
            "3": "NO_SHARD",
            "4": "HYBRID_SHARD",
            "full_shard": "FULL_SHARD",
            "shard_grad_op": "SHARD_GRAD_OP",
            "no_shard": "NO_SHARD",
            "hybrid_shard": "HYBRID_SHARD",
        },
    ),
    "state_dict_type": Feed("fsdp.state_dict_type"),
    "use_orig_params": Feed("fsdp.use_orig_params"),
    "transformer_layer_cls_to_wrap": Feed("fsdp.layer_class", given=True),
    "auto_wrap_policy": (
        Feed("fsdp.auto_wrap", WRAPPED),
        Feed("fsdp.wraps_by_size", {"size_based_wrap": True}, only=True),
    ),
    # The Trainer wraps by size where there is a number; a 0 says nothing.
    "min_num_params": Feed("fsdp.wraps_by_size", given=True),
    "activation_checkpointing": (
        Feed("training.gradient_checkpointing", {"true": True}, only=True),
        Feed("fsdp.activation_checkpointing"),
    ),
    "cpu_ram_efficient_loading": Feed("fsdp.cpu_ram_efficient_loading"),
}
FSDP_CONFIG: Feeds = {f"fsdp_config.{prefix}{name}": feed for prefix in ("", "fsdp_") for name, feed in _FSDP.items()}

FEEDS: Feeds = {
    # TrainingArguments: the loop
    "gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
    "per_device_train_batch_size": Feed("training.per_device_train_batch_size"),
    "per_device_eval_batch_size": Feed("training.per_device_eval_batch_size"),
    "per_gpu_train_batch_size": Feed("training.per_device_train_batch_size"),
    "auto_find_batch_size": Feed("training.auto_find_batch_size"),
    "gradient_checkpointing": Feed("training.gradient_checkpointing", {"unsloth": True}),
    "gradient_checkpointing_kwargs.use_reentrant": Feed("training.use_reentrant"),
    # What transformers 5.23.0 calls them; the old names go with 6.
    "activation_checkpointing": Feed("training.gradient_checkpointing"),
    "activation_checkpointing_kwargs.use_reentrant": Feed("training.use_reentrant"),
    "average_tokens_across_devices": Feed("training.average_tokens_across_devices"),
    "label_smoothing_factor": Feed("training.label_smoothing_factor"),
    "max_grad_norm": Feed("training.max_grad_norm"),
    "num_train_epochs": Feed("training.num_train_epochs"),
    "max_steps": Feed("training.max_steps"),
    "resume_from_checkpoint": Feed("training.resume_from_checkpoint", {"false": False}, given=True),
    "seed": Feed("training.seed"),
    "neftune_noise_alpha": Feed("training.neftune_noise_alpha"),
    "use_liger_kernel": Feed("training.use_liger_kernel"),
    "use_liger": Feed("training.use_liger_kernel"),
    "dataloader_num_workers": Feed("training.dataloader_num_workers"),
    "torch_compile": Feed("training.torch_compile"),
    # either of these turns compilation on
    "torch_compile_backend": (Feed("training.torch_compile", given=True), Feed("training.compile_backend")),
    "torch_compile_mode": Feed("training.torch_compile", given=True),
    "use_cpu": Feed("host.device", {"true": "cpu"}, only=True),
    "no_cuda": Feed("host.device", {"true": "cpu"}, only=True),
    "use_mps_device": Feed("host.device", {"true": "mps"}, only=True),
    # precision: see `precision`, which joins what two switches say
    "bf16": Feed("precision.mode", {"true": "bf16", "full": "bf16", "false": "no", "auto": None}, only=True),
    "fp16": Feed("precision.mode", {"true": "fp16", "false": "no", "auto": None}, only=True),
    "tf32": Feed("precision.tf32"),
    # the optimizer
    "optim": OPTIMIZER,
    "optim_args": Feed("optimizer.arguments", given=True),
    "adafactor": (
        Feed("optimizer.name", {"true": "adafactor"}, only=True),
        Feed("optimizer.library", {"true": "transformers"}, only=True),
    ),
    "lr_scheduler_type": Feed("optimizer.scheduler"),
    "eval_strategy": EVALUATES,
    "evaluation_strategy": EVALUATES,
    "weight_decay": Feed("optimizer.weight_decay"),
    # several processes
    "deepspeed": Feed("distributed.strategy", given="deepspeed"),
    "ddp_backend": Feed("distributed.backend"),
    "ddp_find_unused_parameters": Feed("distributed.find_unused_parameters"),
    "accelerator_config.gradient_accumulation_kwargs.sync_each_batch": Feed("distributed.sync_each_batch"),
    "fsdp": Feed("distributed.strategy", given="fsdp"),
    "fsdp.full_shard": Feed("fsdp.sharding_strategy", {"true": "FULL_SHARD"}, only=True),
    "fsdp.shard_grad_op": Feed("fsdp.sharding_strategy", {"true": "SHARD_GRAD_OP"}, only=True),
    "fsdp.hybrid_shard": Feed("fsdp.sharding_strategy", {"true": "HYBRID_SHARD"}, only=True),
    "fsdp.no_shard": Feed("fsdp.sharding_strategy", {"true": "NO_SHARD"}, only=True),
    "fsdp.auto_wrap": Feed("fsdp.auto_wrap", {"true": True}, only=True),
    "fsdp_transformer_layer_cls_to_wrap": (
        Feed("fsdp.auto_wrap", given=True),
        Feed("fsdp.layer_class", given=True),
    ),
    "fsdp_min_num_params": Feed("fsdp.wraps_by_size", given=True),
    **FSDP_CONFIG,
    # TRL's ModelConfig, and scripts that name the model in the same words
    "model_name_or_path": Feed("model.name"),
    "attn_implementation": ATTENTION,
    "torch_dtype": DTYPE,
    "dtype": DTYPE,
    "use_peft": (
        Feed("peft.method", {"true": "lora", "false": "none"}, only=True),
        Feed("peft.given_to_trainer", {"true": True, "false": False}, only=True),
    ),
    "lora_target_modules": Feed("peft.all_linear", {"all-linear": True}, only=True),
    "lora_dropout": Feed("peft.dropout"),
    "lora_task_type": Feed("peft.task_type"),
    "lora_modules_to_save": Feed("peft.modules_to_save", given=True),
    "lora_target_parameters": Feed("peft.target_parameters", given=True),
    "load_in_8bit": BITS_8,
    "load_in_4bit": BITS_4,
    "use_bnb_nested_quant": Feed("quantization.double_quant"),
    "bnb_4bit_quant_storage": STORAGE,
    # SFTConfig, DPOConfig, GRPOConfig and their likes
    "packing": Feed("training.packing"),
    "packing_strategy": Feed("training.packing_strategy"),
    "padding_free": Feed("training.padding_free"),
    "loss_type": Feed("training.loss_type"),
    "dataloader_persistent_workers": Feed("training.persistent_workers"),
    "beta": Feed("training.beta"),
    "lmbda": Feed("training.lmbda"),
    "temperature": Feed("training.temperature"),
    "use_vllm": Feed("training.use_vllm"),
    "vllm_mode": Feed("training.vllm_mode"),
    "vllm_tensor_parallel_size": Feed("training.vllm_tensor_parallel"),
    "vllm_enable_sleep_mode": Feed("training.vllm_enable_sleep_mode"),
    "vllm_importance_sampling_correction": Feed("training.vllm_importance_sampling_correction"),
    "mask_truncated_completions": Feed("training.mask_truncated_completions"),
    "steps_per_generation": Feed("training.steps_per_generation"),
    "truncation_mode": Feed("training.truncation_mode"),
    "assistant_only_loss": Feed("training.assistant_only_loss"),
    "completion_only_loss": Feed("training.completion_only_loss"),
    # TRL cuts nothing where it is None.
    "max_length": (
        Feed("data.sequence_length", {"null": None}),
        Feed("data.truncated", {"null": False}, given=True),
    ),
    "max_seq_length": Feed("data.sequence_length"),
    # What the program has tokenized goes through no template any more.
    "dataset_kwargs.skip_prepare_dataset": Feed("data.conversational", {"true": False}, only=True),
    "dataset_streaming": Feed("data.streaming"),
    "streaming": Feed("data.streaming"),
    "shuffle_dataset": Feed("data.shuffle"),
    "router_aux_loss_coef": ROUTER_COEFFICIENT,
    "use_liger_loss": Feed("training.use_liger_loss"),
    "model_init_kwargs.attn_implementation": ATTENTION,
    "model_init_kwargs.torch_dtype": DTYPE,
    "model_init_kwargs.dtype": DTYPE,
    "model_init_kwargs.use_cache": Feed("model.use_cache"),
    "model_init_kwargs.output_router_logits": Feed("model.output_router_logits"),
    "model_init_kwargs.router_aux_loss_coef": ROUTER_COEFFICIENT,
    "save_only_model": Feed("training.save_only_model"),
    "logging_nan_inf_filter": Feed("training.logging_nan_inf_filter"),
    "ignore_data_skip": Feed("training.ignore_data_skip"),
    "group_by_length": Feed("training.group_by_length"),
    # What transformers 5.2.0 has in its place; the other strategies are of other orders.
    "train_sampling_strategy": Feed(
        "training.group_by_length",
        {"group_by_length": True, "random": False, "sequential": False, "batch_rebalance": False},
        only=True,
    ),
    "save_strategy": Feed("training.save_strategy", {"false": "no"}),
    "label_names": Feed("training.label_names", given=True),
    "load_best_model_at_end": Feed("training.load_best_model_at_end"),
}

# Arguments that only TRL's configurations have: with one of them the trainer is TRL's.
TRL_OWN = frozenset(
    {
        *("use_peft", "dataset_mixer", "dataset_mixture", "packing", "padding_free", "completion_only_loss"),
        *("assistant_only_loss", "dataset_text_field", "dataset_num_proc", "chat_template_path"),
        *("max_prompt_length", "max_completion_length", "num_generations", "reward_funcs", "reward_weights"),
        *("desirable_weight", "undesirable_weight", "precompute_ref_log_probs", "vllm_mode"),
        *("use_bnb_nested_quant", "lora_task_type", "dataset_kwargs", "reference_free"),
    }
)

# Arguments that only TrainingArguments has: examples that write their loop themselves share the names of others.
_TRAINING_ARGUMENTS = frozenset(
    {
        *("bf16", "fp16", "tf32", "optim", "gradient_checkpointing_kwargs", "save_strategy", "save_steps"),
        *("eval_strategy", "evaluation_strategy", "logging_strategy", "eval_steps"),
        *("save_total_limit", "warmup_ratio", "load_best_model_at_end", "metric_for_best_model", "group_by_length"),
        *("remove_unused_columns", "ddp_find_unused_parameters", "dataloader_num_workers", "do_train", "do_eval"),
        *("neftune_noise_alpha", "label_smoothing_factor", "use_liger_kernel", "average_tokens_across_devices"),
        *("torch_compile", "overwrite_output_dir", "logging_first_step", "logging_dir", "ddp_timeout"),
        "activation_checkpointing_kwargs",
    }
)


def drivers_by_arguments(names: Collection[str], location: Location) -> list[Setting]:
    """What presumably drives a loop that is given TrainingArguments by name: the Trainer or one of TRL's, its heirs.

    Args:
        names: of the arguments, without dashes.
        location: of the settings.
    """
    if "per_device_train_batch_size" not in names or _TRAINING_ARGUMENTS.isdisjoint(names):
        return []
    drivers = ("transformers.Trainer", "trl") if TRL_OWN.isdisjoint(names) else ("trl",)
    return [Setting(key="training.framework", value=driver, location=location, presumed=True) for driver in drivers]


# Values that are mappings, and which a flag or a string in a config gives as JSON.
_MAPPINGS = frozenset(
    {
        *("gradient_checkpointing_kwargs", "activation_checkpointing_kwargs", "fsdp_config", "accelerator_config"),
        *("model_init_kwargs", "deepspeed"),
    }
)
_ENUMERATIONS = ("OptimizerNames.", "SchedulerType.")
# Where the member of an enumeration has another name than its value.
OPTIMIZER_MEMBERS = {
    "adamw_bnb": "adamw_bnb_8bit",
    "paged_adamw": "paged_adamw_32bit",
    "lion": "lion_32bit",
    "paged_lion": "paged_lion_32bit",
    "paged_ademamix": "paged_ademamix_32bit",
    "rmsprop_8bit": "rmsprop_bnb_8bit",
    "rmsprop_32bit": "rmsprop_bnb_32bit",
}
_ON_IF_ANY = frozenset({"training.torch_compile", "training.gradient_checkpointing"})
_OFF_IF_ANY = frozenset({"model.output_router_logits"})
_SWITCHES = frozenset({"bf16", "fp16"})
_DEEPEST = 4
_LONGEST_JSON = 100_000


def expanded(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """One argument as the pairs that :data:`FEEDS` knows: itself, and what is inside of it.

    ``fsdp="full_shard auto_wrap"`` is two options, ``gradient_checkpointing_kwargs`` a mapping or a string of JSON
    (``{"use_reentrant": false}``), of which ``gradient_checkpointing_kwargs.use_reentrant`` is yielded.
    """
    if name == "fsdp" and isinstance(value, (str, list)):
        words = value.replace(",", " ").split() if isinstance(value, str) else value
        yield name, value
        for word in words:
            yield f"fsdp.{str(word)[:40].lower()}", True
    elif name == "loss_type" and isinstance(value, list):
        yield name, value[0] if len(value) == 1 else "auto"  # several losses are added up: no one word says it
    elif name in _MAPPINGS and isinstance(value, str) and value.lstrip().startswith("{"):
        yield from _flat(name, _json(value))
    elif isinstance(value, str) and value.startswith(_ENUMERATIONS):
        member = value.partition(".")[2].lower()  # as code spells it, and careless dumps print it
        yield name, OPTIMIZER_MEMBERS.get(member, member)
    else:
        yield from _flat(name, value)


def stored_as_loaded(top: Mapping[str, object], location: Location) -> list[Setting]:
    """What TRL's own script stores 4-bit weights in where its arguments name a dtype for the model.

    get_quantization_config of 0.12.2 to 0.25.1 takes that dtype, from 0.26 on it asks for bnb_4bit_quant_storage.
    """
    asked = str(top.get("load_in_4bit", False)).lower() == "true"
    if not asked or not _NAMED_DTYPES.intersection({str(top.get(name)) for name in ("dtype", "torch_dtype")}):
        return []
    before = ReleaseQuestion(package="trl", operator="<", literal="0.26.0")
    return [Setting(key="quantization.float_storage", value=True, location=location, where=(before,))]


def settled(named: Iterable[tuple[str, Setting]]) -> list[Setting]:
    """The settings of one run, where several arguments of it speak of one thing.

    Returns:
        Each setting once. What two switches say is joined: neither `bf16` nor `fp16` is full precision, and `fp16`
        that is false says nothing by itself; what either of two arguments turns on is on, and a loss that either
        of two turns off is off.
    """
    pairs = list(named)
    off = {setting.key for _, setting in pairs if setting.key in _OFF_IF_ANY and setting.value is False}
    pairs = [(name, setting) for name, setting in pairs if setting.key not in off or setting.value is False]
    on = {setting.key for _, setting in pairs if setting.key in _ON_IF_ANY and setting.value is True}
    precision = _precision([pair for pair in pairs if pair[1].key == "precision.mode"])
    once: dict[tuple[str, SettingValue | None], Setting] = {}
    for _, setting in pairs:
        if setting in precision if setting.key == "precision.mode" else setting.key not in on or setting.value is True:
            once.setdefault((setting.key, setting.value), setting)
    return list(once.values())


def _precision(modes: list[tuple[str, Setting]]) -> list[Setting]:
    values = {setting.value for _, setting in modes}
    for wins in ({"fp8"}, {"bf16", "fp16"}, {None}):
        if values & wins:
            return [setting for _, setting in modes if setting.value in wins]
    off = {name for name, _ in modes}
    # `mixed_precision: no` is a statement, `fp16: false` alone is none: TRL turns bf16 on then.
    return [setting for name, setting in modes if name != "fp16" or off >= _SWITCHES]


def _flat(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    yield name, value
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner, depth + 1)


def _json(text: str) -> Any:
    """What a string of JSON says; the string itself if it is none."""
    try:
        return json_text.parse(text, "") if len(text) < _LONGEST_JSON else text
    except Malformed:
        return text
