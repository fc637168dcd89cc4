"""The calls that say something about a training run: which class or function, by which argument, and by itself."""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.model.environment import SettingValue
from gradcompat.scanners.configs import deepspeed, lightning_cli, ms_swift, training_arguments
from gradcompat.scanners.key_mapping import SEVERAL, Feed, Feeds
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern


@dataclass(frozen=True, slots=True)
class Known:
    """A class or a function.

    Attributes:
        roots: the packages that it comes from.
        feeds: what its arguments say.
        positional: names of the arguments that are given without one.
        states: what a call says by itself.
        framework: what then drives the training loop.
        trains: it makes the object that runs the loop.
    """

    roots: frozenset[str]
    feeds: Feeds = field(default_factory=dict)
    positional: tuple[str, ...] = ()
    states: Mapping[str, SettingValue] = field(default_factory=dict)
    framework: str | None = None
    trains: bool = False


_TRANSFORMERS = frozenset({"transformers", "trl", "optimum", "unsloth", "adapters", "setfit", "sentence_transformers"})
_TRL = frozenset({"trl", "unsloth"})
_UNSLOTH = frozenset({"unsloth"})
_SENTENCES = frozenset({"sentence_transformers"})
_SETFIT = frozenset({"setfit"})
_PEFT = frozenset({"peft"})
_SWIFT = frozenset({"swift"})
_LIGHTNING = frozenset({"lightning", "pytorch_lightning", "lightning_fabric"})
_ACCELERATE = frozenset({"accelerate"})
_TORCH = frozenset({"torch"})
KERAS = frozenset({"keras", "tensorflow", "tf_keras"})
_ENGINE_OF_NVIDIA = frozenset({"transformer_engine"})
_LIGER = frozenset({"liger_kernel"})
_LIGER_LOSS = ("ce_weight", "ignore_index", "lse_square_scale", "label_smoothing", "reduction")
STATEFUL_LOADERS = (
    "torchdata.stateful_dataloader.StatefulDataLoader",
    "torchdata.stateful_dataloader.stateful_dataloader.StatefulDataLoader",
)

_ARGUMENTS: Feeds = {
    **training_arguments.FEEDS,
    **{f"deepspeed.{name}": feed for name, feed in deepspeed.ENGINE_FEEDS.items()},
}
# Of what Trainers take beside their arguments, mostly in old releases.
_TRAINER = {
    name: _ARGUMENTS[name]
    for name in (*("max_seq_length", "packing", "neftune_noise_alpha", "max_length", "loss_type", "beta"),)
}

# TRL's trainers, whose names are those of their methods, and the method's word.
_METHODS = {
    **{
        name: name.lower()
        for name in ("SFT", "DPO", "KTO", "ORPO", "CPO", "BCO", "GRPO", "PPO", "GKD", "GOLD", "XPO", "RLOO")
    },
    "Reward": "reward",
    "OnlineDPO": "online_dpo",
    "NashMD": "nash_md",
    "PRM": "prm",
    "Distillation": "distillation",
    "PPOv2": "ppo",
    # trl.experimental
    **{
        name: name.lower() for name in ("A2PO", "DPPO", "GFPO", "GMPO", "MiniLLM", "PAPO", "SDFT", "SDPO", "SSD", "TPO")
    },
    "AsyncDistillation": "async_distillation",
    "AsyncGRPO": "async_grpo",
    "GRPOWithReplayBuffer": "grpo_with_replay_buffer",
    "IWOPD": "iw_opd",
    "ServerDistillation": "distillation",
}

_COMPILED = Feed("training.torch_compile", {"no": False}, given=True)  # the backend that accelerate compiles with

_ADAPTERS = {
    "LoraConfig": "lora",
    "AdaLoraConfig": "adalora",
    "IA3Config": "ia3",
    "LoHaConfig": "loha",
    "LoKrConfig": "lokr",
    "PrefixTuningConfig": "prefix_tuning",
    "PromptTuningConfig": "prompt_tuning",
    "PromptEncoderConfig": "p_tuning",
    "MultitaskPromptTuningConfig": "multitask_prompt_tuning",
    "AdaptionPromptConfig": "adaption_prompt",
    "OFTConfig": "oft",
    "BOFTConfig": "boft",
    "VeraConfig": "vera",
    "FourierFTConfig": "fourierft",
    "LNTuningConfig": "ln_tuning",
    "VBLoRAConfig": "vblora",
    "HRAConfig": "hra",
    "BoneConfig": "bone",
    "MissConfig": "miss",
    "XLoraConfig": "xlora",
    "PolyConfig": "poly",
    "CPTConfig": "cpt",
    "RandLoraConfig": "randlora",
    "ShiraConfig": "shira",
    "C3AConfig": "c3a",
    "TrainableTokensConfig": "trainable_tokens",
}
# What the trainers of sentence-transformers train.
_EMBEDDING = ("SentenceTransformer", "CrossEncoder", "SparseEncoder")
TARGETS = Feed("peft.all_linear", {"[]": False}, given=True)  # a pattern is read as the word is
_ADAPTER: Feeds = {
    "target_modules": TARGETS,
    "target_parameters": Feed("peft.target_parameters", given=True),
    "lora_dropout": Feed("peft.dropout"),
    "modules_to_save": Feed("peft.modules_to_save", given=True),
    "trainable_token_indices": Feed("peft.trainable_tokens", given=True),
    "layers_to_transform": Feed("peft.layers_to_transform", {"0": True}, given=True),
    "layers_pattern": Feed("peft.layers_pattern", given=True),
    "task_type": (Feed("peft.task_type"), Feed("peft.names_task", {"feature_extraction": False}, given=True)),
}

_BITS: Feeds = {"load_in_4bit": training_arguments.BITS_4, "load_in_8bit": training_arguments.BITS_8}
_HALVED = Feed(
    "precision.half_weights", {**dict.fromkeys(("bfloat16", "float16", "half"), True), "float32": False}, only=True
)
LOADING: Feeds = {
    **_BITS,
    "torch_dtype": (training_arguments.DTYPE, _HALVED),
    "dtype": (training_arguments.DTYPE, _HALVED),
    "attn_implementation": training_arguments.ATTENTION,
    "use_flash_attention_2": Feed("model.attn_implementation", {"true": "flash_attention_2"}, only=True),
    "use_cache": Feed("model.use_cache"),
    "output_router_logits": Feed("model.output_router_logits"),
    "router_aux_loss_coef": training_arguments.ROUTER_COEFFICIENT,
    "max_seq_length": Feed("data.sequence_length"),
}
# Of the config of a model that is made anew, or loaded with it.
OF_CONFIG: Feeds = {name: LOADING[name] for name in ("output_router_logits", "router_aux_loss_coef")}
_CHECKPOINTING_KWARGS = {"gradient_checkpointing_kwargs.use_reentrant": Feed("training.use_reentrant")}
# In transformers from 5.23.0 on.
_ACTIVATION_KWARGS = {"activation_checkpointing_kwargs.use_reentrant": Feed("training.use_reentrant")}
_CHECKPOINTING = Feed("training.gradient_checkpointing", {"unsloth": True, "true": True}, only=True)

_AUTOCAST = Feed("precision.mode", {"bfloat16": "bf16", "float16": "fp16", "float32": "no"})
# What takes more than a table to understand is left to configs.
_LIGHTNING_TRAINER: Feeds = {
    **{name: feed for name, feed in lightning_cli.TRAINER.items() if "." not in name and name != "devices"},
    "resume_from_checkpoint": Feed("training.resume_from_checkpoint", given=True),
}
# DeepSpeed's config as a mapping in the program.
# A config makes no pipeline: a PipelineModule says how many stages it has.
_ENGINE: Feeds = {
    f"{argument}.{name}": feed
    for argument in ("config", "config_params")
    for name, feed in deepspeed.ENGINE_FEEDS.items()
    if name != "pipeline.stages"
}
_SHARDING = {
    word: word.upper() for word in ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "_hybrid_shard_zero2")
}
_SHARDED: Feeds = {
    "sharding_strategy": Feed("fsdp.sharding_strategy", _SHARDING),
    "auto_wrap_policy": Feed("fsdp.auto_wrap", {"no_wrap": False}, given=True),
    "use_orig_params": Feed("fsdp.use_orig_params"),
}
_STATES = {f"{word}_state_dict": f"{word.upper()}_STATE_DICT" for word in ("full", "sharded", "local")}
_OFFLOAD = {"none": "none"}
_OF_KERAS: Feeds = {
    "gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
    "weight_decay": Feed("optimizer.weight_decay"),
}
_WEIGHTED: Feeds = {"weight_decay": Feed("optimizer.weight_decay"), "fused": Feed("optimizer.fused")}
# Data sets of the hub that people have reported to be a loading script.
_SCRIPTS = (
    *(f"mozilla-foundation/common_voice_{number}_0" for number in (11, 12, 13, 14, 15, 16, 17)),
    *("superb", "facebook/flores", "masakhane/masakhapos", "masakhane/masakhaner-x", "ds4sd/doclaynet"),
    *("reazon-research/reazonspeech", "livecodebench/code_generation_lite", "mahmoodlab/patho-bench"),
)
_CLIPPING: Feeds = {"max_norm": Feed("training.max_grad_norm")}

# An average of the weights, and the switch that guards it in the examples of diffusers.
AVERAGE = Known(
    frozenset({"diffusers"}),
    {"use_ema": Feed("training.weight_average")},
    states={"training.weight_average": True},
)
KNOWN: dict[str, tuple[Known, ...]] = {
    "EMAModel": (AVERAGE,),
    "TrainingArguments": (Known(_TRANSFORMERS, _ARGUMENTS, framework="transformers.Trainer"),),
    "Seq2SeqTrainingArguments": (Known(_TRANSFORMERS, _ARGUMENTS, framework="transformers.Trainer"),),
    "Trainer": (
        Known(_TRANSFORMERS, _TRAINER, framework="transformers.Trainer", trains=True),
        Known(
            _LIGHTNING,
            _LIGHTNING_TRAINER,
            framework="lightning",
            trains=True,
        ),
        # A Trainer of transformers with a step of its own.
        Known(frozenset({"gliner"}), framework="gliner", trains=True),
    ),
    # A loop of one's own, on devices and in a precision that it is told.
    "Fabric": (Known(_LIGHTNING, {name: _LIGHTNING_TRAINER[name] for name in ("strategy", "precision")}),),
    # Its models train themselves.
    **dict.fromkeys(
        ("YOLO", "YOLOE", "YOLOWorld", "RTDETR", "NAS"),
        (Known(frozenset({"ultralytics"}), framework="ultralytics", trains=True),),
    ),
    **dict.fromkeys(
        tuple(f"train_{name}" for name in ("sft", "dpo", "cpo", "orpo", "grpo", "online_dpo", "xpo", "ppo")),
        (Known(frozenset({"mlx_lm_lora"}), framework="mlx"),),
    ),
    **dict.fromkeys(
        ("Runner", "from_cfg"),
        (Known(frozenset({"mmengine"}), framework="mmengine", trains=True),),
    ),
    # Lightning's before 2.0 made a Trainer of a namespace of argparse, and keywords count more.
    "from_argparse_args": (Known(_LIGHTNING, _LIGHTNING_TRAINER, framework="lightning", trains=True),),
    "Seq2SeqTrainer": (Known(_TRANSFORMERS, _TRAINER, framework="transformers.Trainer", trains=True),),
    "AbsaTrainer": (Known(_SETFIT, _TRAINER, framework="transformers.Trainer", trains=True),),
    "SetFitTrainer": (Known(_SETFIT, _TRAINER, framework="transformers.Trainer", trains=True),),
    **{
        f"{name}TrainingArguments": (Known(_SENTENCES, _ARGUMENTS, framework="sentence-transformers"),)
        for name in _EMBEDDING
    },
    **{
        f"{name}Trainer": (Known(_SENTENCES, _TRAINER, framework="sentence-transformers", trains=True),)
        for name in _EMBEDDING
    },
    **{
        f"{name}Trainer": (
            Known(
                _TRL,
                _TRAINER,
                states={"training.method": word},
                framework="trl",
                trains=True,
            ),
        )
        for name, word in _METHODS.items()
    },
    **{
        f"{name}Config": (Known(_TRL, _ARGUMENTS, states={"training.method": word}, framework="trl"),)
        for name, word in _METHODS.items()
    },
    # ChatML's <|im_end|> is both of them (0.7.11, 0.11.4, 0.16.1).
    "setup_chat_format": (Known(_TRL, states={"data.pad_is_eos": True}),),
    # Unsloth's own, for continued pretraining, derive from TRL's.
    "UnslothTrainer": (Known(_UNSLOTH, _TRAINER, states={"training.method": "sft"}, framework="trl", trains=True),),
    "UnslothTrainingArguments": (Known(_UNSLOTH, _ARGUMENTS, states={"training.method": "sft"}, framework="trl"),),
    # PEFT and quantisation
    **{name: (Known(_PEFT, _ADAPTER, states={"peft.method": word}),) for name, word in _ADAPTERS.items()},
    "get_peft_model": (
        Known(_PEFT),
        # unsloth's takes the arguments of LoraConfig itself
        Known(
            frozenset({"unsloth"}),
            {**_ADAPTER, "use_gradient_checkpointing": _CHECKPOINTING},
            states={"peft.method": "lora"},
        ),
    ),
    **dict.fromkeys(
        ("prepare_model_for_kbit_training", "prepare_model_for_int8_training"),
        (
            Known(
                _PEFT,
                {"use_gradient_checkpointing": _CHECKPOINTING, **_CHECKPOINTING_KWARGS},
                ("model", "use_gradient_checkpointing"),
                {"peft.prepare_model_for_kbit_training": True},
            ),
        ),
    ),
    "create_lorafa_optimizer": (Known(_PEFT, states={"peft.optimizer": "lorafa"}),),
    "create_loraplus_optimizer": (Known(_PEFT, states={"peft.optimizer": "loraplus"}),),
    "BitsAndBytesConfig": (
        Known(
            _TRANSFORMERS | {"diffusers"},
            {
                **_BITS,
                "bnb_4bit_use_double_quant": Feed("quantization.double_quant"),
                "bnb_4bit_quant_storage": training_arguments.STORAGE,
            },
        ),
    ),
    "GPTQConfig": (
        Known(_TRANSFORMERS, {"bits": Feed("quantization.bits")}, ("bits",), {"quantization.method": "gptq"}),
    ),
    "AwqConfig": (
        Known(_TRANSFORMERS, {"bits": Feed("quantization.bits")}, ("bits",), {"quantization.method": "awq"}),
    ),
    "HqqConfig": (
        Known(_TRANSFORMERS, {"nbits": Feed("quantization.bits")}, ("nbits",), {"quantization.method": "hqq"}),
    ),
    "TorchAoConfig": (Known(_TRANSFORMERS, states={"quantization.method": "torchao"}),),
    "QuantoConfig": (Known(_TRANSFORMERS, states={"quantization.method": "quanto"}),),
    # ms-swift, by the functions that its commands call
    **dict.fromkeys(
        ("SftArguments", "TrainArguments", "PtArguments", "PretrainArguments", "RLHFArguments"),
        (Known(_SWIFT, ms_swift.FEEDS),),
    ),
    **{
        f"{name}_main": (Known(_SWIFT, states=states, framework="transformers.Trainer", trains=True),)
        for name, states in (
            ("sft", {"training.method": "sft"}),
            ("pt", {"training.method": "pretrain"}),
            ("pretrain", {"training.method": "pretrain"}),
            ("rlhf", {}),
        )
    },
    # ms-swift's Megatron
    **dict.fromkeys(
        ("MegatronSftArguments", "MegatronPretrainArguments", "MegatronRLHFArguments"),
        (Known(_SWIFT, ms_swift.MEGATRON),),
    ),
    **dict.fromkeys(
        ("megatron_sft_main", "megatron_pretrain_main", "megatron_rlhf_main"),
        (Known(_SWIFT, framework="megatron", trains=True),),
    ),
    # verl's SFT, by the function that its command calls
    "run_sft": (Known(frozenset({"verl"}), states={"training.method": "sft"}, framework="verl", trains=True),),
    # Accelerate
    "Accelerator": (
        Known(
            _ACCELERATE,
            {
                "gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
                "mixed_precision": Feed("precision.mode"),
                "cpu": Feed("host.device", {"true": "cpu"}, only=True),
                "dynamo_backend": _COMPILED,
                "use_seedable_sampler": Feed("data.seedable_sampler"),  # before accelerate 1.0
            },
            framework="accelerate",
        ),
    ),
    "notebook_launcher": (
        Known(
            _ACCELERATE,
            {"num_processes": Feed("distributed.processes")},
            ("function", "args", "num_processes"),
        ),
    ),
    # ignite
    "Parallel": (
        Known(frozenset({"ignite"}), {"nproc_per_node": Feed("distributed.processes")}, ("backend", "nproc_per_node")),
    ),
    "TorchDynamoPlugin": (
        Known(
            _ACCELERATE,
            {"backend": _COMPILED, "use_regional_compilation": Feed("training.regional_compilation")},
            ("backend",),
        ),
    ),
    "ParallelismConfig": (
        Known(
            _ACCELERATE,
            {
                "tp_size": Feed("distributed.strategy", dict.fromkeys(SEVERAL, "tensor_parallel"), only=True),
                "cp_size": (
                    Feed("distributed.strategy", dict.fromkeys(SEVERAL, "context_parallel"), only=True),
                    Feed("distributed.sequence_split", dict.fromkeys(SEVERAL, "context_parallel"), only=True),
                ),
                "sp_size": Feed("distributed.sequence_split", dict.fromkeys(SEVERAL, "ulysses"), only=True),
            },
        ),
    ),
    "GradientAccumulationPlugin": (
        Known(
            _ACCELERATE,
            {
                "num_steps": Feed("training.gradient_accumulation_steps"),
                "sync_each_batch": Feed("distributed.sync_each_batch"),
            },
            ("num_steps", "adjust_scheduler", "sync_with_dataloader", "sync_each_batch"),
        ),
    ),
    "DeepSpeedPlugin": (
        Known(
            _ACCELERATE,
            {
                "zero_stage": Feed("deepspeed.zero_stage"),
                "gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
                "gradient_clipping": Feed("deepspeed.gradient_clipping"),
                "offload_optimizer_device": Feed("deepspeed.offload_optimizer", _OFFLOAD),
                "offload_param_device": Feed("deepspeed.offload_param", _OFFLOAD),
                "zero3_save_16bit_model": Feed("deepspeed.gather_16bit_weights"),
            },
            states={"distributed.strategy": "deepspeed"},
        ),
    ),
    "FullyShardedDataParallelPlugin": (
        Known(
            _ACCELERATE,
            {
                **_SHARDED,
                "state_dict_type": Feed("fsdp.state_dict_type", _STATES),
                "fsdp_version": Feed("fsdp.version"),
                "auto_wrap_policy": (
                    Feed("fsdp.auto_wrap", training_arguments.WRAPPED, given=True),
                    Feed("fsdp.wraps_by_size", {"size_based_wrap": True}, only=True),
                ),
                "transformer_cls_names_to_wrap": Feed("fsdp.layer_class", given=True),
                "activation_checkpointing": (_CHECKPOINTING, Feed("fsdp.activation_checkpointing")),
            },
            states={"distributed.strategy": "fsdp"},
        ),
    ),
    # Lightning
    "DDPStrategy": (
        Known(
            _LIGHTNING,
            {"find_unused_parameters": Feed("distributed.find_unused_parameters")},
            states={"distributed.strategy": "ddp"},
        ),
    ),
    "FSDPStrategy": (
        Known(
            _LIGHTNING,
            {
                **_SHARDED,
                "state_dict_type": Feed(
                    "fsdp.state_dict_type", {"full": "FULL_STATE_DICT", "sharded": "SHARDED_STATE_DICT"}
                ),
            },
            states={"distributed.strategy": "fsdp"},
        ),
    ),
    "DeepSpeedStrategy": (
        Known(
            _LIGHTNING,
            {
                "stage": Feed("deepspeed.zero_stage"),
                "offload_optimizer": Feed("deepspeed.offload_optimizer", {"true": "cpu", "false": "none"}, only=True),
                "offload_parameters": Feed("deepspeed.offload_param", {"true": "cpu"}, only=True),
                "overlap_comm": Feed("deepspeed.overlap_comm"),
                "contiguous_gradients": Feed("deepspeed.contiguous_gradients"),
                "reduce_scatter": Feed("deepspeed.reduce_scatter"),
            },
            states={"distributed.strategy": "deepspeed"},
        ),
    ),
    "LightningCLI": (Known(_LIGHTNING, framework="lightning"),),
    "GradientAccumulationScheduler": (Known(_LIGHTNING, {"scheduling": Feed("training.gradient_accumulation_steps")}),),
    **dict.fromkeys(("seed_everything",), (Known(_LIGHTNING, {"seed": Feed("training.seed")}, ("seed",)),)),
    # torch, and loops written by hand
    "DistributedDataParallel": (Known(_TORCH, states={"distributed.strategy": "ddp"}),),
    "DataParallel": (Known(_TORCH, states={"distributed.strategy": "dp"}),),
    "FullyShardedDataParallel": (Known(_TORCH, _SHARDED, states={"distributed.strategy": "fsdp", "fsdp.version": 1}),),
    "fully_shard": (Known(_TORCH, states={"distributed.strategy": "fsdp", "fsdp.version": 2}),),
    "initialize": (Known(frozenset({"deepspeed"}), _ENGINE, states={"distributed.strategy": "deepspeed"}),),
    "PipelineModule": (
        Known(
            frozenset({"deepspeed"}),
            {
                "num_stages": Feed("deepspeed.pipeline_stages"),
                "topology": Feed("deepspeed.pipeline_stages", {"none": None}, only=True),
            },
            ("layers", "num_stages", "topology"),
        ),
    ),
    "init_process_group": (Known(_TORCH | {"deepspeed"}, {"backend": Feed("distributed.backend")}, ("backend",)),),
    "manual_seed": (Known(_TORCH, {"seed": Feed("training.seed")}, ("seed",)),),
    "set_seed": (Known(_TRANSFORMERS | _ACCELERATE, {"seed": Feed("training.seed")}, ("seed",)),),
    "autocast": (Known(_TORCH, {"dtype": _AUTOCAST}, ("device_type", "dtype", "enabled")),),
    "checkpoint": (
        Known(
            _TORCH,
            {"use_reentrant": Feed("training.use_reentrant")},
            states={"training.gradient_checkpointing": True},
        ),
        Known(_ENGINE_OF_NVIDIA, states={"training.gradient_checkpointing": True}),
    ),
    "fp8_autocast": (Known(_ENGINE_OF_NVIDIA, positional=("enabled",), states={"precision.mode": "fp8"}),),
    **dict.fromkeys(
        ("Adam", "AdamW", "Adamax", "Nadam", "Adafactor", "SGD", "RMSprop", "Lion", "Adagrad", "Adadelta"),
        (Known(KERAS, _OF_KERAS),),
    ),
    "DelayedScaling": (Known(_ENGINE_OF_NVIDIA, states={"precision.fp8_recipe": "delayed"}),),
    "Float8CurrentScaling": (Known(_ENGINE_OF_NVIDIA, states={"precision.fp8_recipe": "tensorwise"}),),
    "MXFP8BlockScaling": (Known(_ENGINE_OF_NVIDIA, states={"precision.fp8_recipe": "mxfp8"}),),
    "Float8BlockScaling": (Known(_ENGINE_OF_NVIDIA, states={"precision.fp8_recipe": "blockwise"}),),
    "parallel_cross_entropy": (
        Known(
            _ENGINE_OF_NVIDIA,
            {"reduce_loss": Feed("training.loss_reduction", {"true": "mean", "false": "none"}, only=True)},
            ("_input", "target", "label_smoothing", "reduce_loss"),
        ),
    ),
    **{
        name: (Known(_LIGER, {"reduction": Feed("training.loss_reduction")}, positional),)
        for name, positional in {
            "LigerFusedLinearCrossEntropyLoss": _LIGER_LOSS,
            "LigerCrossEntropyLoss": _LIGER_LOSS,
            "LigerKLDIVLoss": (),
            "liger_fused_linear_cross_entropy": (
                *("input", "weight", "target", "bias"),
                *("ce_weight", "ignore_index", "lse_square_scale", "label_smoothing", "reduction"),
            ),
            "liger_cross_entropy": (
                *("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction"),
            ),
        }.items()
    },
    "DataLoaderConfiguration": (Known(_ACCELERATE, {"use_seedable_sampler": Feed("data.seedable_sampler")}),),
    "StatefulDataLoader": (
        Known(frozenset({"torchdata"}), {"shuffle": Feed("data.shuffle")}, ("dataset", "batch_size", "shuffle")),
    ),
    "clip_grad_norm_": (Known(_TORCH, _CLIPPING, ("parameters", "max_norm")),),
    "set_float32_matmul_precision": (
        Known(
            _TORCH,
            {"precision": Feed("precision.tf32", {"high": True, "medium": True, "highest": False})},
            ("precision",),
        ),
    ),
    "load_dataset": (
        Known(
            frozenset({"datasets"}),
            {
                "path": Feed("data.loading_script", dict.fromkeys(_SCRIPTS, True), only=True),
                "streaming": Feed("data.streaming"),
            },
            ("path",),
        ),
    ),
    "get_scheduler": (Known(_TRANSFORMERS, {"name": Feed("optimizer.scheduler")}, ("name",)),),
    "get_linear_schedule_with_warmup": (Known(_TRANSFORMERS, states={"optimizer.scheduler": "linear"}),),
    "get_cosine_schedule_with_warmup": (Known(_TRANSFORMERS, states={"optimizer.scheduler": "cosine"}),),
    "get_constant_schedule_with_warmup": (
        Known(_TRANSFORMERS, states={"optimizer.scheduler": "constant_with_warmup"}),
    ),
}

# Methods, whatever object they are called on.
KNOWN_METHODS: dict[str, Known] = {
    "gradient_checkpointing_enable": Known(
        frozenset(),
        _CHECKPOINTING_KWARGS,
        ("gradient_checkpointing_kwargs",),
        {"training.gradient_checkpointing": True},
    ),
    "activation_checkpointing_enable": Known(
        frozenset(),
        _ACTIVATION_KWARGS,
        ("activation_checkpointing_kwargs",),
        {"training.gradient_checkpointing": True},
    ),
    "activation_checkpointing_disable": Known(frozenset(), states={"training.gradient_checkpointing": False}),
    "enable_gradient_checkpointing": Known(frozenset(), states={"training.gradient_checkpointing": True}),
    "gradient_checkpointing_disable": Known(frozenset(), states={"training.gradient_checkpointing": False}),
    "to_iterable_dataset": Known(frozenset(), states={"data.streaming": True}),
}

# Methods by which a loop of one's own goes on where it was.
RESUMING = ("load_state", "load_state_dict")

# What an object of a known type is told.
KNOWN_OF_TYPE: dict[str, Known] = {
    "train": Known(
        frozenset(),
        {"resume_from_checkpoint": Feed("training.resume_from_checkpoint", {"false": False}, given=True)},
        ("resume_from_checkpoint",),
    ),
    "fit": Known(
        frozenset(),
        {"ckpt_path": Feed("training.resume_from_checkpoint", given=True)},
        ("model", "loaders", "val", "datamodule", "ckpt_path"),
    ),
    "clip_grad_norm_": Known(frozenset(), _CLIPPING, ("parameters", "max_norm")),
    **dict.fromkeys(RESUMING, Known(frozenset(), states={"training.resume_from_checkpoint": True})),
    "filter": Known(frozenset(), states={"data.stream_filter": True}),
}

# What a model takes with a batch.
BATCH = {"cross_attention_mask": "model.cross_attention_mask"}
# Processors that make it.
PADDING = Known(frozenset(), {"padding_side": Feed("data.padding_side")})
PROCESSORS = frozenset({"transformers.MllamaProcessor", "transformers.AutoProcessor"})

# Optimizers: what stands before the class, and the library.
_OPTIMIZERS = (
    (lazy_pattern(r"torch\.optim\.(?:\w+\.)?(?P<name>[A-Z]\w+)"), "torch"),
    (lazy_pattern(r"transformers\.(?:optimization\.)?(?P<name>Adafactor|AdamW)"), "transformers"),
    (lazy_pattern(r"bitsandbytes\.optim\.(?:\w+\.)?(?P<name>[A-Z]\w+)"), "bitsandbytes"),
    (lazy_pattern(r"deepspeed\.ops\.(?:\w+\.)+(?P<name>[A-Z]\w+)"), "deepspeed"),
    (lazy_pattern(r"apex\.optimizers\.(?:\w+\.)?(?P<name>[A-Z]\w+)"), "apex"),
    (lazy_pattern(r"torchao\.(?:\w+\.)+(?P<name>(?:_?Adam|CPUOffload)\w+)"), "torchao"),
    (lazy_pattern(r"lion_pytorch\.(?P<name>Lion)"), "lion_pytorch"),
    (lazy_pattern(r"schedulefree\.(?:\w+\.)?(?P<name>[A-Z]\w+)"), "schedulefree"),
    (lazy_pattern(r"prodigyopt\.(?:\w+\.)?(?P<name>Prodigy)"), "prodigyopt"),
    (lazy_pattern(r"came_pytorch\.(?:\w+\.)?(?P<name>CAME)"), "came_pytorch"),
)
_NO_OPTIMIZERS = frozenset({"Optimizer", "GlobalOptimManager", "SWALR", "AveragedModel"})
_NAMES = {
    ("torch", "AdamW"): "adamw_torch",
    ("transformers", "AdamW"): "adamw_hf",
    ("torchao", "AdamW8bit"): "adamw_torch_8bit",
    ("torchao", "AdamW4bit"): "adamw_torch_4bit",
}
_WIDTH = lazy_pattern(r"(?P<paged>Paged)?(?P<name>[A-Za-z]+?)(?P<bits>8|32)bit")

# Those of bitsandbytes whose `optim_bits` is an argument, 32 unless it is given.
_WIDE = frozenset({"Adagrad", "Adam", "AdamW", "AdEMAMix", "LAMB", "LARS", "Lion", "RMSprop", "SGD"})

OPTIMIZER_ARGUMENTS = Known(frozenset(), _WEIGHTED)
# A data loader of a loop of one's own; what a literal says there is told of all loaders together.
LOADER = Known(frozenset(), {"num_workers": Feed("training.dataloader_num_workers")})
# What a loop of one's own says by how often it goes through the data, and by how often it steps.
OWN_LOOP = Known(
    frozenset(),
    {
        "num_train_epochs": Feed("training.num_train_epochs"),
        "gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
    },
)
# What a config or an option gives them their numbers as: no function has such a name.
LOOP, LOADERS = "own loop", "loaders of a loop"
# The same for what loads a model or a processor, for what an optimizer is made with, and for methods.
MODELS, OPTIMIZERS, PROCESSING = "model loading", "optimizer making", "processor loading"
_METHOD = "method "
KNOWN[LOOP] = (OWN_LOOP,)
_UNNAMED = {
    LOADERS: LOADER,
    MODELS: Known(frozenset(), LOADING),
    OPTIMIZERS: OPTIMIZER_ARGUMENTS,
    PROCESSING: PADDING,
    **{f"{_METHOD}{name}": one for name, one in (KNOWN_METHODS | KNOWN_OF_TYPE).items() if one.feeds},
}
KNOWN.update({name: (one,) for name, one in _UNNAMED.items()})


def tool_of_method(name: str, one: Known) -> str:
    """What a config or an option gives the arguments of a method to; empty for one that says nothing by them."""
    tool = f"{_METHOD}{name}"
    return tool if _UNNAMED.get(tool) is one else ""


def known(name: str) -> Known | None:
    """What is known of a function or class by its full name; one without a package is taken for the one there is."""
    root, dot, _ = name.partition(".")
    for one in KNOWN.get(name.rpartition(".")[2], ()):
        if not dot or root in one.roots:
            return one
    return None


def optimizer(name: str, bits: object = None) -> tuple[str, str] | None:
    """The optimizer that a class is, in the words of transformers, and its library.

    Args:
        name: the full name: ``bitsandbytes.optim.PagedAdamW8bit``.
        bits: what ``optim_bits`` says, if it is given.
    """
    for pattern, library in _OPTIMIZERS:
        match = pattern.fullmatch(name)
        if match is None or match["name"] in _NO_OPTIMIZERS or "lr_scheduler" in name or "swa_utils" in name:
            continue
        short = match["name"]
        width = _WIDTH.fullmatch(short) if library == "bitsandbytes" else None
        if width is not None:
            paged = "paged_" if width["paged"] else ""
            return f"{paged}{width['name'].lower()}_{width['bits']}bit", library
        if library == "bitsandbytes" and short.removeprefix("Paged") in _WIDE and bits is None:
            bits = 32
        if library == "bitsandbytes" and bits in (8, 32):
            paged = "paged_" if short.startswith("Paged") else ""
            return f"{paged}{short.removeprefix('Paged').lower()}_{bits}bit", library
        return _NAMES.get((library, short), short.lower()), library
    return None


def feeds() -> Feeds:
    """Everything above as one table, for the page of the vocabulary: ``Accelerator(mixed_precision)``."""
    table: dict[str, Feed | tuple[Feed, ...]] = dict(training_arguments.FEEDS)
    for name, alternatives in KNOWN.items():
        for one in alternatives if name not in _UNNAMED else ():
            if name in _ADAPTERS and name != "LoraConfig":
                continue  # as LoraConfig
            if all(one.feeds is not shared for shared in (_ARGUMENTS, _TRAINER, _ENGINE)):
                table.update({f"{name}({argument})": feed for argument, feed in one.feeds.items()})
            if one.states and name not in _ADAPTERS and one.framework != "trl":
                table[f"{name}()"] = tuple(Feed(key, given=value) for key, value in one.states.items())
    table["LoraConfig(), PrefixTuningConfig(), …"] = Feed("peft.method")
    table["SFTConfig(), SFTTrainer(), DPOConfig(), …"] = Feed("training.method")
    for methods in (KNOWN_METHODS, KNOWN_OF_TYPE):
        for name, one in methods.items():
            table.update({f".{name}({argument})": feed for argument, feed in one.feeds.items()})
            if one.states:
                table[f".{name}()"] = tuple(Feed(key, given=value) for key, value in one.states.items())
    table.update({f"from_pretrained({argument})": feed for argument, feed in LOADING.items()})
    table.update({f"MixtralConfig({argument})": feed for argument, feed in OF_CONFIG.items()})
    table.update({f"model({argument})": Feed(key, given=True) for argument, key in BATCH.items()})
    return table
