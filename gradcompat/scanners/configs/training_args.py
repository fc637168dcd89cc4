"""Dumps of transformers' TrainingArguments as JSON, which name every argument with the value that the run had."""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.configs import training_arguments
from gradcompat.scanners.configs.flat import keys_of, read_config, run_of, settings_of
from gradcompat.scanners.key_mapping import Feeds
from gradcompat.startup.lazy_dataclasses import replace

FEEDS: Feeds = training_arguments.FEEDS

# Arguments that the Trainer has had since its first versions, under names that nobody else uses.
_OWN = frozenset(
    {
        *("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_grad_norm"),
        *("output_dir", "lr_scheduler_type", "logging_steps", "save_steps", "adam_beta1", "weight_decay"),
    }
)


def scan(document: Document) -> Context:
    """The run whose arguments were written down.

    Raises:
        Malformed: if it is no JSON, or holds something else.
    """
    config = read_config(document, FEEDS)
    if len(_OWN & config.top.keys()) < 3:
        raise Unrecognised("has no arguments of transformers' Trainer", path=document.path)
    settings, skipped = settings_of(config, FEEDS)
    # A dump has all arguments: those of TRL's configurations are there, or the trainer is not TRL's.
    framework = "transformers.Trainer" if training_arguments.TRL_OWN.isdisjoint(config.top) else "trl"
    settings.append(Setting(key="training.framework", value=framework, location=Location(path=document.path)))
    return replace(run_of(config, "hf-training-args", settings, skipped), keys=keys_of(config))
