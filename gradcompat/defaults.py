"""Defaults of tools that decide findings: the value of what a program surely leaves to the tool.

A scanner says what was left out (:class:`~gradcompat.model.context.Unset`); the version that is installed says which
value that means. Where either is in doubt there is no default, and the setting stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.truth import Truth
from gradcompat.versions import VersionSet, locate

if TYPE_CHECKING:
    from gradcompat.model.context import Context

TRAINER, TRL, ACCELERATE = "transformers.Trainer", "trl", "accelerate"
TRAIN = "transformers.Trainer.train"

_TRAINING_ARGUMENTS = ("transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments")
_TRANSFORMERS = "https://github.com/huggingface/transformers/blob/v4.49.0/src/transformers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """The default of one argument.

    Attributes:
        of: what takes the argument: classes, or :data:`TRAIN` for the call that starts a Trainer.
        key: what the argument sets.
        value: its default.
        package: whose version decides.
        versions: the releases that have this default; the code of those at its bounds was read.
        phrases: what could set it in some other way; a program that has one of them anywhere is not believed.
        drivers: what alone may drive the loop; nothing stands for anything.
        beside: settings without which the argument has no effect.
        reference: where the default stands.
        read: the releases whose code was read.
    """

    of: tuple[str, ...]
    key: str
    value: SettingValue
    package: str
    versions: str
    phrases: tuple[str, ...]
    drivers: frozenset[str] = frozenset()
    beside: Mapping[str, SettingValue] = field(default_factory=dict)
    reference: str
    read: str


DEFAULTS = (
    Default(
        of=_TRAINING_ARGUMENTS,
        key="training.gradient_accumulation_steps",
        value=1,
        package="transformers",
        versions=">=4.0.0,<=5.23.0",
        phrases=("accumulation", "accumulate", "accum_", "accelerator_config", "num_steps", "deepspeed"),
        drivers=frozenset({TRAINER}),
        reference=f"{_TRANSFORMERS}/training_args.py",
        read="4.0.0, 4.11.0, 4.30.0, 4.40.0, 4.46.0, 4.49.0, 4.52.0, 4.57.6, 5.0.0, 5.10.4, 5.23.0",
    ),
    Default(
        of=_TRAINING_ARGUMENTS,
        key="training.use_reentrant",
        value=True,
        package="transformers",
        # Before 4.38 torch's own default counts, the same in 1.11.0, 1.13.1, 2.0.1, 2.1.2, 2.4.1, 2.6.0, 2.9.1 and
        # 2.15.0; 5.0.0 turned it round, and its candidates had not yet.
        versions=">=4.11.3,<5.0.0",
        # A model with code of its own may have a way of its own.
        phrases=(
            *("reentrant", "checkpointing_kwargs", "trust_remote_code", "fsdp", "utils.checkpoint", "checkpoint("),
            *("def gradient_checkpointing", "_set_gradient_checkpointing", "enable_gradient_checkpointing"),
        ),
        drivers=frozenset({TRAINER}),
        beside={"training.gradient_checkpointing": True},
        reference=f"{_TRANSFORMERS}/modeling_utils.py",
        read=(
            "4.11.3, 4.22.2, 4.31.0, 4.34.1, 4.35.2, 4.36.2, 4.37.2, 4.38.0, 4.40.0, 4.46.0, 4.49.0, 4.52.0, 4.57.6, "
            "5.0.0rc3, 5.0.0"
        ),
    ),
    Default(
        of=_TRAINING_ARGUMENTS,
        key="optimizer.weight_decay",
        value=0.0,
        package="transformers",
        versions=">=4.0.0,<=5.23.0",
        # Any optimizer that is not the Trainer's own has a default of its own.
        phrases=("weight_decay", "optimizers", "optimizer_cls", "create_optimizer", ".optimizer", "deepspeed"),
        drivers=frozenset({TRAINER}),
        reference=f"{_TRANSFORMERS}/training_args.py",
        read="4.0.0, 4.11.0, 4.30.0, 4.40.0, 4.46.0, 4.49.0, 4.52.0, 4.57.6, 5.0.0, 5.10.4, 5.23.0",
    ),
    Default(
        of=_TRAINING_ARGUMENTS,
        key="distributed.sync_each_batch",
        value=False,
        package="accelerate",
        versions=">=0.28.0,<=1.15.0",
        phrases=("sync_each_batch", "accelerator_config", "GradientAccumulationPlugin"),
        drivers=frozenset({TRAINER}),
        reference="https://github.com/huggingface/accelerate/blob/v0.30.1/src/accelerate/utils/dataclasses.py",
        read="0.27.2, which has no such argument; 0.28.0, 0.30.1, 0.31.0, 1.0.1, 1.7.0, 1.15.0",
    ),
    Default(
        of=("accelerate.Accelerator",),
        key="distributed.sync_each_batch",
        value=False,
        package="accelerate",
        versions=">=0.28.0,<=1.15.0",
        phrases=("sync_each_batch", "gradient_accumulation_plugin", "GradientAccumulationPlugin"),
        drivers=frozenset({ACCELERATE, "torch"}),
        reference="https://github.com/huggingface/accelerate/blob/v0.30.1/src/accelerate/utils/dataclasses.py",
        read="0.27.2, which has no such argument; 0.28.0, 0.30.1, 0.31.0, 1.0.1, 1.7.0, 1.15.0",
    ),
    Default(
        of=("peft.LoraConfig",),
        key="peft.layers_to_transform",
        value=False,
        package="peft",
        versions=">=0.8.0,<=0.19.1",
        phrases=("layers_to_transform", "load_adapter", "from_json_file"),
        reference="https://github.com/huggingface/peft/blob/v0.15.2/src/peft/tuners/lora/config.py",
        read="0.8.0, 0.8.2, 0.10.0, 0.13.2, 0.14.0, 0.15.0, 0.15.2, 0.17.1, 0.18.0, 0.19.1",
    ),
    Default(
        of=("peft.LoraConfig",),
        key="peft.trainable_tokens",
        value=False,
        package="peft",
        versions=">=0.15.0,<=0.19.1",
        phrases=("trainable_token", "load_adapter", "from_json_file"),
        reference="https://github.com/huggingface/peft/blob/v0.15.2/src/peft/tuners/lora/config.py",
        read="0.14.0, which has no such argument; 0.15.0, 0.15.2, 0.17.1, 0.18.0, 0.19.1",
    ),
    Default(
        of=(TRAIN,),
        key="training.resume_from_checkpoint",
        value=False,
        package="transformers",
        versions=">=4.11.0,<=5.23.0",
        phrases=("resume", "load_state", "load_checkpoint", "_load_from", "skip_first_batches"),
        drivers=frozenset({TRAINER}),
        reference=f"{_TRANSFORMERS}/trainer.py",
        read="4.11.0, 4.29.0, 4.35.2, 4.40.0, 4.46.0, 4.49.0, 4.52.0, 4.57.6, 5.0.0, 5.10.4, 5.23.0",
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
                and (versions := _installed(environment, default)) is not None
            ):
                place = Location(path=f"default of {default.package} {versions}")
                found.setdefault(default.key, Setting(key=default.key, value=default.value, location=place))
    return tuple(found.values())


def _installed(environment: Environment, default: Default) -> str | None:
    """The versions of the package, if there are some and all of them surely have the default."""
    entries = [package for package in environment.packages if package.name == default.package]
    versions = dict.fromkeys(package.version or "" for package in entries)
    windows = [locate(package.version or "", unreleased=package.unreleased) for package in entries]
    having = _versions(default.versions)
    sure = all(window is not None and having.truth(window) is Truth.YES for window in windows)
    return " and ".join(versions) if entries and sure else None


@lru_cache
def _versions(text: str) -> VersionSet:
    return VersionSet.parse(text)
