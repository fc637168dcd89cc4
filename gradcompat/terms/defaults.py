"""Defaults of tools that decide findings: the value of what a program surely leaves to the tool.

A scanner says what was left out (:class:`~gradcompat.model.context.Unset`); the version that is installed says which
value that means. Where either is in doubt there is no default, and the setting stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.releases.argument_defaults import Argument, Stated, agreed
from gradcompat.requirements.versions import locate
from gradcompat.startup.lazy_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradcompat.model.context import Context

TRAINER, TRL, ACCELERATE = "transformers.Trainer", "trl", "accelerate"
TRAIN = "transformers.Trainer.train"

_TRAINING_ARGUMENTS = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """What is set where one argument is left out.

    Attributes:
        of: what takes the argument: classes, or :data:`TRAIN` for the call that starts a Trainer.
        key: what the argument sets.
        default: out of the tables of releases, or stated.
        phrases: what could set it in some other way; a program that has one of them anywhere is not believed.
        drivers: what alone may drive the loop; nothing stands for anything.
        beside: settings without which the argument has no effect.
    """

    of: tuple[str, ...]
    key: str
    default: Argument | Stated
    phrases: tuple[str, ...]
    drivers: frozenset[str] = frozenset()
    beside: Mapping[str, SettingValue] = field(default_factory=dict)


def _argument(
    name: str, of: str = _TRAINING_ARGUMENTS[0], *, none: SettingValue | None = None, inherits: str | None = None
) -> Argument:
    """An argument, by what takes it; ``none`` is what None stands for."""
    means = {} if none is None else {"None": none}
    return Argument(package=of.partition(".")[0], callables=(of,), name=name, means=means, inherits=inherits)


_SYNC_EACH_BATCH = _argument("sync_each_batch", "accelerate.utils.GradientAccumulationPlugin")

DEFAULTS = (
    Default(
        of=_TRAINING_ARGUMENTS,
        key="training.gradient_accumulation_steps",
        default=_argument("gradient_accumulation_steps"),
        phrases=("accumulation", "accumulate", "accum_", "accelerator_config", "num_steps", "deepspeed"),
        drivers=frozenset({TRAINER}),
    ),
    Default(
        of=_TRAINING_ARGUMENTS,
        key="training.use_reentrant",
        default=Stated(
            value=True,
            package="transformers",
            # Before 4.38 torch's own default counts, the same in 1.11.0, 1.13.1, 2.0.1, 2.1.2, 2.4.1, 2.6.0, 2.9.1 and
            # 2.15.0; 5.0.0 turned it round, and its candidates had not yet.
            versions=">=4.11.3,<5.0.0",
            reference="https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers/modeling_utils.py",
            read=(
                "4.11.3, 4.22.2, 4.31.0, 4.34.1, 4.35.2, 4.36.2, 4.37.2, 4.38.0, 4.40.0, 4.46.0, 4.49.0, 4.52.0, "
                "4.57.6, 5.0.0rc3, 5.0.0"
            ),
        ),
        # A model with code of its own may have a way of its own.
        phrases=(
            *("reentrant", "checkpointing_kwargs", "trust_remote_code", "fsdp", "utils.checkpoint", "checkpoint("),
            *("def gradient_checkpointing", "_set_gradient_checkpointing", "enable_gradient_checkpointing"),
        ),
        drivers=frozenset({TRAINER}),
        beside={"training.gradient_checkpointing": True},
    ),
    Default(
        of=_TRAINING_ARGUMENTS,
        key="optimizer.weight_decay",
        default=_argument("weight_decay"),
        # Any optimizer that is not the Trainer's own has a default of its own.
        phrases=("weight_decay", "optimizers", "optimizer_cls", "create_optimizer", ".optimizer", "deepspeed"),
        drivers=frozenset({TRAINER}),
    ),
    Default(
        of=_TRAINING_ARGUMENTS,
        key="distributed.sync_each_batch",
        default=_SYNC_EACH_BATCH,
        phrases=("sync_each_batch", "accelerator_config", "GradientAccumulationPlugin"),
        drivers=frozenset({TRAINER}),
    ),
    *(
        Default(
            of=("accelerate.Accelerator",),
            key="training.gradient_accumulation_steps",
            default=default,
            phrases=("accumulation", "accum_", "num_steps", "deepspeed"),
            drivers=frozenset({ACCELERATE, "torch"}),
        )
        for default in (
            _argument("gradient_accumulation_steps", "accelerate.Accelerator"),
            Stated(  # before the first release that the table has
                value=1,
                package="accelerate",
                versions=">=0.11.0,<=0.15.0",
                reference="https://github.com/huggingface/accelerate/blob/v0.11.0/src/accelerate/accelerator.py",
                read="0.11.0, 0.12.0, 0.13.2, 0.14.0, 0.15.0",
            ),
        )
    ),
    Default(
        of=("accelerate.Accelerator",),
        key="distributed.sync_each_batch",
        default=_SYNC_EACH_BATCH,
        phrases=("sync_each_batch", "gradient_accumulation_plugin", "GradientAccumulationPlugin"),
        drivers=frozenset({ACCELERATE, "torch"}),
    ),
    Default(
        of=("peft.LoraConfig",),
        key="peft.layers_to_transform",
        default=_argument("layers_to_transform", "peft.LoraConfig", none=False, inherits="transformers"),
        phrases=("layers_to_transform", "load_adapter", "from_json_file"),
    ),
    Default(
        of=("peft.LoraConfig",),
        key="peft.dropout",
        default=Stated(
            value=0.0,
            package="peft",
            versions=">=0.6.2,<=0.21.2",
            reference="https://github.com/huggingface/peft/blob/v0.21.2/src/peft/tuners/lora/config.py",
            read="0.6.2, 0.13.2, 0.17.1, 0.21.2",
        ),
        phrases=("lora_dropout", "load_adapter", "from_json_file"),
    ),
    Default(
        of=("peft.LoraConfig",),
        key="peft.trainable_tokens",
        default=_argument("trainable_token_indices", "peft.LoraConfig", none=False, inherits="transformers"),
        phrases=("trainable_token", "load_adapter", "from_json_file"),
    ),
    Default(
        of=("peft.LoraConfig",),
        key="peft.names_task",
        default=_argument("task_type", "peft.LoraConfig", none=False, inherits="transformers"),
        # Classes of PEFT that are named say of what task they are.
        phrases=("task_type", "load_adapter", "from_json_file", "PeftModelFor"),
    ),
    Default(
        of=_TRAINING_ARGUMENTS,
        key="training.label_names",
        default=_argument("label_names", none=False),
        phrases=("label_names", "can_return_loss"),
        drivers=frozenset({TRAINER}),
    ),
    Default(
        of=(TRAIN,),
        key="training.resume_from_checkpoint",
        default=_argument("resume_from_checkpoint", TRAIN, none=False),
        phrases=("resume", "load_state", "load_checkpoint", "_load_from", "skip_first_batches"),
        drivers=frozenset({TRAINER}),
    ),
)


def defaults_of(environment: Environment, context: Context) -> tuple[Setting, ...]:
    """The settings that a run leaves to the tools which the environment has.

    A key that is stated anywhere, even without a value, has no default; nor has one whose package is not there in
    versions that are all known to have it.
    """
    if not context.run:
        return ()
    stated: dict[str, list[SettingValue | None]] = {}
    for setting in (*environment.settings, *context.settings):
        stated.setdefault(setting.key, []).append(setting.value)
    found: dict[str, Setting] = {}
    for unset in context.unset:
        for default in DEFAULTS:
            if (
                default.key == unset.key
                and unset.of in default.of
                and default.key not in stated
                and all(stated.get(key) and set(stated[key]) == {value} for key, value in default.beside.items())
                and (known := _known(environment, default.default)) is not None
            ):
                value, versions = known
                place = Location(path=f"default of {default.default.package} {versions}")
                found.setdefault(default.key, Setting(key=default.key, value=value, location=place))
    return tuple(found.values())


def _known(environment: Environment, default: Argument | Stated) -> tuple[SettingValue, str] | None:
    """The value and the versions that it is of, if there are some and all of them surely have it."""
    entries = [package for package in environment.packages if package.name == default.package]
    windows = [locate(package.version or "", unreleased=package.unreleased) for package in entries]
    value = agreed(default, windows)
    return None if value is None else (value, " and ".join(dict.fromkeys(package.version or "" for package in entries)))
