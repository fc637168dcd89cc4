"""What a run leaves out has the default of its trainer, in the release that is there.

:mod:`gradcompat.terms.defaults` is certain of a few of these, where the whole program was seen. For any other
recognised run they are presumed: something that was not read may still set them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.presumptions.engines import FRAMEWORK_KEY
from gradcompat.releases.argument_defaults import Argument, Stated, agreed
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.truth import Truth

_TRAINER, _TRL, _LIGHTNING = "transformers.Trainer", "trl", "lightning"
_SENTENCES = "sentence-transformers"  # its arguments derive from those of transformers, and set none of these
_OF_TRAINER = (_TRAINER, _TRL, _SENTENCES)
_OF_ENGINE = (*_OF_TRAINER, _LIGHTNING, "accelerate", "torch")  # DeepSpeed's
_STRATEGY = "distributed.strategy"
_QUANTIZED = "quantization.method"
_HOOK = "training.enable_input_require_grads"
_METHOD = "training.method"  # what shows it is enough, as an argument that one trainer alone has
_REPLICATING = frozenset({*_OF_TRAINER, "accelerate"})
_SHARDING = ("deepspeed.", "fsdp.")
# The arguments that TRL's trainers take beside their own; its SFTTrainer makes its own of all that these say.
_PLAIN = lazy_pattern(r"transformers\.(?:\w+\.)*(?:Seq2Seq)?TrainingArguments")
_OWN = lazy_pattern(r"trl\.(?:\w+\.)*(?!Model|Peft|Script)\w+Config")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The default of one setting in one trainer.

    Attributes:
        key: the setting.
        default: what it is where a run leaves it out: that of an argument, out of the tables, or a stated one.
        frameworks: values of ``training.framework`` of which this is true.
        beside: settings that have to be stated with these values, or it has no meaning; a method may be presumed.
        among: settings that have to be stated with any values, since they show that the config was read.
        against: settings that turn it round where they are stated with these values.
        instead: a setting that counts in its place where it is stated, unless with the value that means nothing.
        unless: packages and the versions of them that turn it round.
        called: a method that the code has to call without any argument.
    """

    key: str
    default: Argument | Stated
    frameworks: tuple[str, ...] = _OF_TRAINER
    beside: tuple[tuple[str, SettingValue], ...] = ()
    among: tuple[str, ...] = ()
    against: tuple[tuple[str, SettingValue], ...] = ()
    instead: tuple[str, SettingValue] | None = None
    unless: tuple[tuple[str, str], ...] = ()
    called: str = ""

    def drivers(self, *, plain: bool) -> frozenset[str]:
        """The frameworks of which it is true.

        Args:
            plain: TRL's trainer is given the arguments of transformers, whose defaults it takes as if they were said.
        """
        if not plain or not isinstance(self.default, Argument):
            return frozenset(self.frameworks)
        others = frozenset(self.frameworks) - {_TRL}
        return others | {_TRL} if _TRAINER in others else others

    def of(self, environment: Environment) -> tuple[SettingValue, str] | None:
        """The value and the versions that it is of; None where it is not sure for all that are installed."""
        named = _named(environment, self.default.package)
        inherited = self.default.inherits if isinstance(self.default, Argument) else None
        inherits = () if inherited is None else _named(environment, inherited)
        beside = [window for version in inherits if (window := locate(version)) is not None]
        value = agreed(self.default, [locate(version) for version in named], beside)
        return None if value is None else (value, " and ".join(named))


def _argument(
    name: str, *, means: Mapping[str, SettingValue] | None = None, absent: SettingValue | None = None
) -> Argument:
    """One of transformers' TrainingArguments, which TRL and sentence-transformers inherit as it is."""
    return Argument(
        package="transformers",
        callables=("transformers.TrainingArguments",),
        name=name,
        means=means or {},
        absent=absent,
    )


def _of_grpo(name: str) -> Argument:
    """One of TRL's GRPOConfig alone."""
    return Argument(package="trl", callables=("trl.GRPOConfig",), name=name, inherits="transformers")


def _of_trl(
    name: str, *, means: Mapping[str, SettingValue] | None = None, absent: SettingValue | None = None
) -> Argument:
    """One that TRL's configs have a default of their own for."""
    return Argument(
        package="trl",
        callables=tuple(f"trl.{kind}Config" for kind in ("SFT", "DPO", "KTO", "GRPO")),
        name=name,
        means=means or {},
        absent=absent,
        inherits="transformers",
    )


# Before 4.38.0 torch's own default counts, which torch 1.11.0 to 2.15.0 have as transformers has it then.
_REENTRANT_READ = (
    "4.11.3, 4.22.2, 4.31.0, 4.34.1, 4.35.2, 4.36.2, 4.37.2, 4.38.0, 4.40.0, 4.46.0, 4.49.0, 4.52.0, 4.57.6, "
    "5.0.0rc3, 5.0.0, 5.23.0, 5.24.0"
)
_TRANSFORMERS = "https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers"
_REENTRANT = Stated(
    value=True,
    package="transformers",
    versions=">=4.11.3,<5.0.0",
    read=_REENTRANT_READ,
    reference="https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers/modeling_utils.py",
)
# What was read of each trainer of TRL; the first GRPOTrainers set no hook either.
_READ_OF_TRL = "0.7.11, 0.8.6, 0.9.6, 0.11.4, 0.12.2, 0.15.2, 0.18.2, 0.21.0, 0.23.1, 0.25.1"
_HOOK_OF_TRL = (
    ("sft", ">=0.7.5,<=1.16.0", f"0.7.5, {_READ_OF_TRL}, 0.26.2, 0.29.0, 1.0.0, 1.16.0"),
    ("dpo", ">=0.7.4,<=1.16.0", f"0.7.4, {_READ_OF_TRL}, 0.26.2, 0.29.0, 1.0.0, 1.16.0"),
    *((method, ">=0.8.6,<=0.25.1", _READ_OF_TRL.removeprefix("0.7.11, ")) for method in ("kto", "orpo", "cpo")),
    ("grpo", ">=0.16.0,<=1.16.0", "0.16.0, 0.19.1, 0.21.0, 0.23.1, 0.25.1, 0.26.2, 0.29.0, 1.0.0, 1.16.0"),
)
_NO_HOOK_OF_TRL = (
    ("reward", ">=0.4.2,<=0.21.0", "0.4.2, 0.4.7, 0.7.11, 0.9.6, 0.12.2, 0.15.2, 0.19.1, 0.20.0, 0.21.0"),
    ("prm", ">=0.13.0,<=0.21.0", "0.13.0, 0.14.0, 0.15.2, 0.16.1, 0.17.0, 0.18.2, 0.19.1, 0.20.0, 0.21.0"),
)


def _hook_of_trl(method: str, versions: str, read: str, *, sets: bool) -> LeftOut:
    """Whether a trainer of TRL sets the hook on the embeddings where it puts the adapter on.

    Without it quantised weights get one all the same: they are prepared for training.
    """
    first, *_ = read.split(", ")
    return LeftOut(
        key=_HOOK,
        default=Stated(
            value=sets,  # as far as reentrant checkpointing is on, which alone needs it
            package="trl",
            versions=versions,
            read=f"{read}, whose trainer sets {'the' if sets else 'no'} hook where it puts the adapter on",
            reference=f"https://github.com/huggingface/trl/blob/v{first}/trl/trainer/{method}_trainer.py",
        ),
        frameworks=(_TRL,),
        beside=(("peft.given_to_trainer", True), (_METHOD, method)),
        against=() if sets else tuple((_QUANTIZED, how) for how in ("bitsandbytes", "gptq", "awq", "hqq")),
    )


# Which releases of verl were read, and where.
_NEW_VERL = ("0.8.0, 0.9.0, 0.9.1", "verl-project/verl/blob/v0.8.0/verl/trainer/config/model/hf_model.yaml")
_OLD_VERL = (
    "0.4.0, 0.4.1, 0.5.0, 0.6.0, 0.6.1; the adapter also in 0.7.0, 0.8.0, 0.9.0, 0.9.1",
    "volcengine/verl/blob/v0.5.0/verl/trainer/config/ppo_trainer.yaml",
)
_COLD_VERL = (
    "0.2, 0.3.0.post1, 0.4.1, 0.5.0",
    "volcengine/verl/blob/v0.4.1/verl/trainer/config/ppo_megatron_trainer.yaml",
)
_CHECKPOINTED = (("training.gradient_checkpointing", True),)
_ALL_SHARDED = 3
_ZERO_3 = (("deepspeed.zero_stage", _ALL_SHARDED),)  # TRL turns reentrant checkpointing on beside PEFT
_GRPO = (("training.method", "grpo"),)
_NOT_GIVEN = {"None": False}  # behind which nothing is turned on

LEFT_OUT = (
    LeftOut(
        key="training.gradient_accumulation_steps",
        default=_argument("gradient_accumulation_steps"),
        frameworks=(_TRAINER, _SENTENCES),
    ),
    LeftOut(
        key="training.gradient_accumulation_steps",
        default=_of_trl("gradient_accumulation_steps"),  # 8 for GRPO of 0.14.0
        frameworks=(_TRL,),
    ),
    *(
        LeftOut(
            key=f"training.{name}",
            default=of(name),
            frameworks=frameworks,
            unless=(("axolotl", "*"), ("ms-swift", "*")),  # whose own arguments have 1
        )
        for of, frameworks in ((_argument, (_TRAINER, _SENTENCES)), (_of_trl, (_TRL,)))
        for name in ("per_device_train_batch_size", "per_device_eval_batch_size")
    ),
    LeftOut(
        key="training.gradient_accumulation_steps",
        default=Argument(
            package="accelerate", callables=("accelerate.Accelerator",), name="gradient_accumulation_steps"
        ),
        frameworks=("accelerate",),
    ),
    LeftOut(
        key="training.gradient_checkpointing",
        default=_argument("gradient_checkpointing", means=_NOT_GIVEN),
        frameworks=(_TRAINER, _SENTENCES),
    ),
    LeftOut(
        key="training.gradient_checkpointing",
        default=_of_trl("gradient_checkpointing", means=_NOT_GIVEN),
        frameworks=(_TRL,),
    ),
    LeftOut(
        key="training.use_reentrant",
        default=_REENTRANT,
        frameworks=(_TRAINER, _SENTENCES),
        beside=_CHECKPOINTED,
    ),
    LeftOut(
        key="training.use_reentrant",
        default=_REENTRANT,
        frameworks=(_TRL,),
        beside=_CHECKPOINTED,
        unless=(("trl", ">=0.27.0"),),
    ),
    LeftOut(
        key="training.use_reentrant",
        default=Stated(
            value=False,
            package="transformers",
            versions=">=5.0.0,<=5.23.0",
            read=_REENTRANT_READ,
            reference=f"{_TRANSFORMERS}/modeling_utils.py",
        ),
        beside=_CHECKPOINTED,
        against=_ZERO_3,
    ),
    LeftOut(
        key="training.use_reentrant",
        default=Stated(
            value=False,
            package="trl",
            versions=">=0.27.0,<=1.16.0",
            read="0.12.0, 0.16.0, 0.20.0, 0.22.0, 0.26.0, 0.27.0, 0.28.0, 0.29.0, 1.0.0, 1.16.0",
            reference="https://github.com/huggingface/trl/blob/v1.0.0/trl/trainer/sft_trainer.py",
        ),
        frameworks=(_TRL,),
        beside=_CHECKPOINTED,
        against=_ZERO_3,
    ),
    # A loop of one's own that switches it on with nothing said of how.
    *(
        LeftOut(
            key="training.use_reentrant",
            default=Stated(
                value=value,
                package="transformers",
                versions=versions,
                read=_REENTRANT_READ,
                reference=f"https://github.com/huggingface/transformers/blob/{tag}/src/transformers/modeling_utils.py",
            ),
            frameworks=(_LIGHTNING, "accelerate", "torch"),
            beside=_CHECKPOINTED,
            called=called,
        )
        for value, versions, tag in ((True, ">=4.11.3,<5.0.0", "v4.49.0"), (False, ">=5.0.0,<=5.24.0", "v5.0.0"))
        for called in ("gradient_checkpointing_enable", "activation_checkpointing_enable")
    ),
    # Its own trainers checkpoint where nobody asks, so that nothing has to be stated beside it.
    *(
        LeftOut(
            key="training.use_reentrant",
            default=Stated(
                value=value,
                package="trl",
                versions=versions,
                read="0.22.0, 0.23.1, 0.24.0, 0.26.2, 0.27.0, 1.0.0, 1.16.0",
                reference="https://github.com/huggingface/trl/blob/v0.26.2/trl/trainer/sft_config.py",
            ),
            frameworks=(_TRL,),
            against=(("training.gradient_checkpointing", False), *_ZERO_3),
            unless=unless,
        )
        for value, versions, unless in (
            (True, ">=0.22.0,<0.27.0", (("transformers", ">=5.0.0rc2"),)),
            (False, ">=0.27.0,<=1.16.0", ()),
        )
    ),
    *(
        LeftOut(
            key=key,
            default=Argument(
                package="trl", callables=("trl.SFTConfig",), name="max_length", means=means, inherits="transformers"
            ),
            frameworks=(_TRL,),
            beside=(("training.method", "sft"),),
        )
        for key, means in (("data.sequence_length", {}), ("data.truncated", {"1024": True}))
    ),
    LeftOut(key="training.label_smoothing_factor", default=_argument("label_smoothing_factor")),
    LeftOut(key="training.torch_compile", default=_argument("torch_compile")),
    LeftOut(key="training.use_liger_kernel", default=_argument("use_liger_kernel", absent=False)),
    LeftOut(
        key="training.use_liger_loss",
        default=_argument("use_liger_loss", absent=False),
        frameworks=(_TRAINER, _SENTENCES),
    ),
    LeftOut(
        key="training.use_liger_loss",
        default=_of_trl("use_liger_loss", means=_NOT_GIVEN, absent=False),
        frameworks=(_TRL,),
    ),
    LeftOut(key="training.neftune_noise_alpha", default=_argument("neftune_noise_alpha", means={"None": 0}, absent=0)),
    LeftOut(key="training.resume_from_checkpoint", default=_argument("resume_from_checkpoint", means=_NOT_GIVEN)),
    LeftOut(key="training.dataloader_num_workers", default=_argument("dataloader_num_workers")),
    LeftOut(key="training.max_steps", default=_argument("max_steps")),
    LeftOut(key="training.max_grad_norm", default=_argument("max_grad_norm")),
    *(
        LeftOut(
            key=key,
            default=Argument(
                package=package,
                callables=(f"{package.replace('-', '_')}.Trainer",),
                name=name,
                means={"None": none},
            ),
            frameworks=(_LIGHTNING,),
        )
        for key, name, none in (
            ("training.max_grad_norm", "gradient_clip_val", 0.0),
            ("training.gradient_accumulation_steps", "accumulate_grad_batches", 1),
        )
        for package in ("lightning", "pytorch-lightning")
    ),
    *(
        LeftOut(
            key="training.num_train_epochs",
            default=of("num_train_epochs"),
            frameworks=frameworks,
            instead=("training.max_steps", -1),
            unless=(("axolotl", "*"), ("ms-swift", "*")),  # axolotl's own has 1
        )
        for of, frameworks in ((_argument, (_TRAINER, _SENTENCES)), (_of_trl, (_TRL,)))
    ),
    LeftOut(key="training.group_by_length", default=_argument("group_by_length", absent=False)),
    LeftOut(key="training.ignore_data_skip", default=_argument("ignore_data_skip")),
    LeftOut(key="training.logging_nan_inf_filter", default=_argument("logging_nan_inf_filter")),
    LeftOut(
        key="training.average_tokens_across_devices",
        default=_argument("average_tokens_across_devices", absent=False),
        frameworks=(_TRAINER,),
    ),
    LeftOut(
        key="training.average_tokens_across_devices",
        default=_of_trl("average_tokens_across_devices", absent=False),
        frameworks=(_TRL,),
    ),
    *(
        LeftOut(key=f"training.{name}", default=_of_grpo(name), frameworks=(_TRL,), beside=_GRPO)
        for name in (
            *("loss_type", "temperature", "vllm_mode", "mask_truncated_completions"),
            *("vllm_enable_sleep_mode", "vllm_importance_sampling_correction"),
            "per_device_train_batch_size",  # 1 in 0.14.0
        )
    ),
    LeftOut(
        key="training.truncation_mode",
        default=Argument(package="trl", callables=("trl.DPOConfig",), name="truncation_mode", inherits="transformers"),
        frameworks=(_TRL,),
        beside=(("training.method", "dpo"),),
    ),
    LeftOut(
        key="model.attn_implementation",
        default=Stated(
            value="sdpa",  # eager for the few classes that cannot, which the table of usual values leaves out as well
            package="transformers",
            versions=">=4.36.0,<=5.23.0",
            read="4.36.2, 4.48.3, 4.57.1, 5.1.0, 5.8.0, 5.23.0",
            reference="https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/modeling_utils.py",
        ),
        frameworks=(*_OF_TRAINER, _LIGHTNING, "accelerate", "torch"),
    ),
    LeftOut(
        key="model.use_cache",
        default=Stated(
            value=True,  # in the configurations of all language models but MPT
            package="transformers",
            versions=">=4.36.0,<=4.48.3",
            read="4.36.2, 4.48.3",
            reference="https://github.com/huggingface/transformers/blob/v4.36.0/src/transformers/models/llama/configuration_llama.py",
        ),
        frameworks=(_TRAINER, _LIGHTNING, "accelerate", "torch"),
    ),
    LeftOut(
        key="model.forward_takes_kwargs",
        default=Stated(
            value=True,
            package="sentence-transformers",
            versions=">=3.3.0,<=6.0.0",
            read="3.3.0, 5.7.0, 6.0.0",
            reference="https://github.com/huggingface/sentence-transformers/blob/v3.3.0/sentence_transformers/SentenceTransformer.py",
        ),
        frameworks=(_SENTENCES,),
    ),
    LeftOut(
        key="model.torch_dtype",
        default=Stated(
            value="auto",
            package="transformers",
            versions=">=5.0.0rc2,<=5.23.0",
            read="4.57.6, 5.0.0rc1, 5.0.0rc2, 5.0.0, 5.23.0, each of which loaded a checkpoint",
            reference=f"{_TRANSFORMERS}/modeling_utils.py",
        ),
        frameworks=(_TRAINER, _TRL, _LIGHTNING, "accelerate", "torch"),
    ),
    LeftOut(
        key="model.torch_dtype",
        default=Stated(
            value="float32",
            package="transformers",
            versions="<5.0.0rc2",
            read="4.36.2, 4.44.2, 4.47.1, 4.49.0, 4.57.6, 5.0.0rc1, each of which loaded a checkpoint",
            reference="https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers/modeling_utils.py",
        ),
        frameworks=(_TRAINER, "accelerate", "torch"),
        among=("code.symbols",),  # programs such as LLaMA-Factory ask for a dtype of their own
        unless=(("unsloth", ">=0"),),
    ),
    LeftOut(
        key="training.evaluates",
        default=Stated(
            value=False,
            package="transformers",
            versions=">=4.17.0,<=5.24.0",
            read="4.17.0, 4.30.0, 4.48.3, 4.57.6, 5.23.0",
            reference="https://github.com/huggingface/transformers/blob/v4.48.3/src/transformers/training_args.py",
        ),
        frameworks=(_TRAINER, _TRL, _SENTENCES),
        unless=(("ms-swift", ">=0"), ("axolotl", ">=0")),  # which evaluate on a part of the data unasked
    ),
    LeftOut(
        key="precision.mode",
        default=_argument("bf16", means={"False": "no"}),  # as that of fp16
        frameworks=(_TRAINER, _SENTENCES),
    ),
    LeftOut(
        key="precision.mode",
        default=_of_trl("bf16", means={"False": "no", "None": "bf16"}),  # None is on unless fp16 is
        frameworks=(_TRL,),
    ),
    LeftOut(
        key="precision.mode",
        default=Stated(
            value="no",
            package="deepspeed",
            versions=">=0.8.0,<=0.19.5",
            read=(
                "0.8.0, 0.11.1, 0.12.2, 0.12.6, 0.14.4, 0.15.4, 0.16.5, 0.17.5, 0.17.6, 0.18.2, 0.18.5, 0.18.9, "
                "0.19.0, 0.19.5"
            ),
            reference="https://github.com/deepspeedai/DeepSpeed/blob/v0.18.5/deepspeed/runtime/precision_config.py",
        ),
        frameworks=("torch",),  # transformers and accelerate write theirs into the config
        beside=(("distributed.strategy", "deepspeed"),),
        among=("deepspeed.zero_stage",),
    ),
    *(
        LeftOut(
            key="precision.mode",
            default=Argument(
                package=package,
                callables=(f"{package.replace('-', '_')}.Trainer",),
                name="precision",
                means={"None": "no", "32": "no", "'32-true'": "no", "32-true": "no"},
            ),
            frameworks=(_LIGHTNING,),
        )
        for package in ("lightning", "pytorch-lightning")
    ),
    LeftOut(
        key="deepspeed.immediate_grad_update",
        default=Stated(
            value=False,
            package="deepspeed",
            versions=">=0.17.5,<=0.19.5",  # it was true in 0.16.5
            read="0.15.4, 0.16.5, 0.17.5, 0.17.6, 0.18.2, 0.18.5, 0.18.9, 0.19.0, 0.19.5",
            reference="https://github.com/deepspeedai/DeepSpeed/blob/v0.18.5/deepspeed/runtime/precision_config.py",
        ),
        frameworks=_OF_ENGINE,
        among=("deepspeed.zero_stage",),
    ),
    *(
        LeftOut(
            key="deepspeed.overlap_comm",
            default=Stated(
                value=stage == _ALL_SHARDED,
                package="deepspeed",
                versions=">=0.8.0,<=0.19.5",
                read="0.8.0, 0.12.6, 0.16.5, 0.18.5, 0.19.0",
                reference="https://github.com/deepspeedai/DeepSpeed/blob/v0.18.5/deepspeed/runtime/zero/config.py",
            ),
            frameworks=_OF_ENGINE,
            beside=(("deepspeed.zero_stage", stage),),
        )
        for stage in (1, 2, _ALL_SHARDED)
    ),
    LeftOut(
        key="data.multi_turn",
        default=Stated(
            value=False,
            package="verl",
            versions=">=0.4.0,<=0.7.0",
            read="0.4.0, 0.5.0, 0.6.0, 0.6.1, 0.7.0",
            reference="https://github.com/volcengine/verl/blob/v0.5.0/verl/trainer/config/sft_trainer.yaml",
        ),
        frameworks=("verl",),
        beside=(("training.method", "sft"),),
    ),
    *(
        LeftOut(
            key=key,
            default=Stated(
                value=value,
                package="verl",
                versions=versions,
                read=read,
                reference=f"https://github.com/{file}",
            ),
            frameworks=("verl",),
            beside=(("training.method", method),),
        )
        for key, value, versions, (read, file) in (
            ("training.separate_rollout", False, ">=0.8.0,<=0.9.1", _NEW_VERL),
            ("training.vllm_enable_lora", True, ">=0.8.0,<=0.9.1", _NEW_VERL),
            ("training.async_rollout", False, ">=0.4.0,<=0.6.1", _OLD_VERL),
            ("training.temperature", 1.0, ">=0.2,<=0.5.0", _COLD_VERL),
            ("training.use_vllm", True, ">=0.4.0,<=0.5.0", _OLD_VERL),  # the engine has to be named from 0.6.0 on
            ("peft.method", "none", ">=0.4.0,<=0.9.1", _OLD_VERL),
        )
        for method in ("grpo", "ppo")
    ),
    LeftOut(
        key="optimizer.name",
        default=Stated(
            value="adamw_torch",
            package="transformers",
            versions=">=4.32.0,<4.54.0",
            read="4.31.0, 4.32.0, 4.46.0, 4.53.0, 4.54.0, 4.57.6, 5.0.0, 5.23.0",
            reference=f"{_TRANSFORMERS}/training_args.py",
        ),
    ),
    *(
        LeftOut(
            key=key,
            default=Stated(
                value=value,
                package="transformers",
                versions="<4.32.0",
                read="4.10.3, 4.11.0, 4.20.0, 4.29.2, 4.30.0, 4.31.0, 4.32.0",
                reference="https://github.com/huggingface/transformers/blob/v4.31.0/src/transformers/training_args.py",
            ),
            frameworks=(_TRAINER,),  # the PPOTrainer that TRL had then makes an optimizer of torch
        )
        for key, value in (("optimizer.name", "adamw_hf"), ("optimizer.library", "transformers"))
    ),
    LeftOut(
        key="optimizer.library",
        default=Stated(
            value="torch",
            package="transformers",
            versions=">=4.32.0,<=5.23.0",
            read="4.31.0, 4.32.0, 4.46.0, 4.53.0, 4.54.0, 4.57.6, 5.0.0, 5.23.0",
            reference=f"{_TRANSFORMERS}/training_args.py",
        ),
    ),
    *(
        LeftOut(
            key=key,
            default=Stated(
                value=value,
                package="trl",
                versions="<0.9.2",
                read="0.7.11, 0.8.6, whose trainers take the arguments of transformers",
                reference="https://github.com/huggingface/trl/blob/v0.8.6/trl/trainer/sft_trainer.py",
            ),
            frameworks=(_TRL,),
        )
        for key, value in (
            ("training.gradient_accumulation_steps", 1),
            ("training.gradient_checkpointing", False),
            ("precision.mode", "no"),
        )
    ),
    LeftOut(key="optimizer.weight_decay", default=_argument("weight_decay")),
    *(
        LeftOut(
            key="distributed.find_unused_parameters",
            default=Stated(
                value=True,  # as of any model that is no PreTrainedModel
                package="transformers",
                versions=">=4.25.1,<=5.24.0",
                read="4.25.1, 4.30.2, 4.35.2, 4.36.2, 4.38.0, 4.45.2, 4.46.3, 4.49.0, 4.53.0, 4.57.6, 5.0.0, 5.24.0",
                reference=f"{_TRANSFORMERS}/trainer.py",
            ),
            frameworks=(_TRAINER, _TRL),
            beside=(("peft.method", method),),
            unless=(("llamafactory", "*"), ("axolotl", "*"), ("ms-swift", "*"), ("unsloth", "*")),
        )
        for method in ("lora", "adalora")
    ),
    LeftOut(
        key=_HOOK,
        default=Stated(
            value=True,
            package="peft",
            versions=">=0.8.2,<=0.21.2",
            read="0.8.2, 0.9.0, 0.12.0, 0.13.2, 0.14.0, 0.15.2, 0.18.0, 0.21.2, whose preparation sets the hook",
            reference="https://github.com/huggingface/peft/blob/v0.18.0/src/peft/utils/other.py",
        ),
        frameworks=_OF_ENGINE,
        beside=(("peft.prepare_model_for_kbit_training", True),),
        against=((_QUANTIZED, "none"),),
    ),
    *(_hook_of_trl(*trainer, sets=True) for trainer in _HOOK_OF_TRL),
    *(_hook_of_trl(*trainer, sets=False) for trainer in _NO_HOOK_OF_TRL),
)


def left_out(environment: Environment) -> tuple[Setting, ...]:
    """The presumed settings of a run: what it leaves out, by the trainer that it names.

    Where several trainers may drive it, only what all of them have in common is presumed.

    Args:
        environment: with everything that is stated of the run.
    """
    stated = {(setting.key, setting.value) for setting in environment.settings if not setting.presumed}
    keys = {setting.key for setting in environment.settings}
    methods = {setting.value for setting in environment.settings if setting.key == _METHOD}
    beside = stated | {(_METHOD, method) for method in methods if len(methods) == 1}
    valued = {key for key, value in stated if value is not None}
    frameworks = _frameworks(environment)
    plain = _TRL in frameworks and _takes_plain_arguments(environment)
    having: dict[str, list[LeftOut]] = {}
    for default in LEFT_OUT:
        if (
            default.key not in keys
            and not frameworks.isdisjoint(default.drivers(plain=plain))
            and beside.issuperset(default.beside)
            and valued.issuperset(default.among)
            and stated.isdisjoint(default.against)
            and (default.instead is None or default.instead[0] not in keys or default.instead in stated)
            and not any(_installed(environment, *unless) for unless in default.unless)
            and (not default.called or f"{default.called}()" in _calls(environment))
        ):
            having.setdefault(default.key, []).append(default)
    found: list[Setting] = []
    for key, defaults in having.items():
        known = [(default, of) for default in defaults if (of := default.of(environment)) is not None]
        covered = {framework for default, _ in known for framework in default.drivers(plain=plain)}
        if not known or len({value for _, (value, _) in known}) > 1 or not frameworks <= covered:
            continue
        default, (value, versions) = known[0]
        place = Location(path=f"default of {default.default.package} {versions}")
        found.append(Setting(key=key, value=value, location=place, presumed=True))
    return (*found, *_replicated(environment, frameworks))


def _takes_plain_arguments(environment: Environment) -> bool:
    """Does the code name the arguments of transformers, and none of TRL?"""
    said = [one.value for one in environment.settings if one.key == "code.symbols" and isinstance(one.value, tuple)]
    names = [str(name) for value in said for name in value]
    return any(map(_PLAIN.match, names)) and not any(map(_OWN.match, names))


def _calls(environment: Environment) -> set[str]:
    """The methods that the code calls without an argument, whatever they are called on."""
    named = [one.value for one in environment.settings if one.key == "code.calls" and isinstance(one.value, tuple)]
    found = {call.rpartition(".")[2] for calls in named for call in calls if call.endswith("()")}
    # The models of diffusers, which checkpoint in a way of their own.
    return set() if "enable_gradient_checkpointing()" in found else found


def _replicated(environment: Environment, frameworks: set[SettingValue | None]) -> tuple[Setting, ...]:
    """Several processes of a trainer that is not told to share out the model have it whole, and average gradients."""
    if not frameworks or not frameworks <= _REPLICATING:
        return ()
    named = {setting.key for setting in environment.settings}
    if _STRATEGY in named or any(key.startswith(_SHARDING) for key in named):
        return ()
    counts = [setting for setting in environment.settings if setting.key == "distributed.processes"]
    several = bool(counts) and all(isinstance(one.value, int) and one.value > 1 for one in counts)
    return (replace(counts[0], key=_STRATEGY, value="ddp", spelling=None, presumed=True),) if several else ()


def _frameworks(environment: Environment) -> set[SettingValue | None]:
    """What drives the run, or else what presumably does."""
    named = [setting for setting in environment.settings if setting.key == FRAMEWORK_KEY]
    return {setting.value for setting in named if not setting.presumed} or {setting.value for setting in named}


def _named(environment: Environment, name: str) -> tuple[str, ...]:
    """The versions of a package: those that are installed, or else the newest that may be."""
    entries = (package for package in environment.packages if package.name == name)
    named = (version for entry in entries for version in (entry.version, *entry.releases[-1:]) if version is not None)
    return tuple(dict.fromkeys(named))


def _installed(environment: Environment, name: str, versions: str) -> bool:
    """Whether all versions of a package are in a range."""
    having = _versions(versions)
    windows = [locate(version) for version in _named(environment, name)]
    return bool(windows) and all(window is not None and having.truth(window) is Truth.YES for window in windows)


@lru_cache
def _versions(text: str) -> VersionSet:
    return VersionSet.parse(text)
