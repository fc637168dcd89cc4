"""Configs of TRL's commands and recipes, and of any script that takes transformers' arguments from a YAML file."""

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

# Arguments of transformers' Trainer, of which a config of whatever script has several.
_TRAINER = frozenset(
    {
        *("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "learning_rate"),
        *("output_dir", "max_steps", "lr_scheduler_type", "warmup_ratio", "bf16", "gradient_checkpointing"),
        *("logging_steps", "save_strategy", "eval_strategy", "evaluation_strategy", "gradient_checkpointing_kwargs"),
        *("activation_checkpointing", "activation_checkpointing_kwargs"),
    }
)
# Arguments of the config of one trainer in the releases from 0.9 to 1.16, and what it presumably trains, in this order.
_METHODS = {
    ("gkd",): frozenset({"teacher_model_name_or_path", "teacher_model_init_kwargs", "lmbda", "seq_kd"}),
    ("kto",): frozenset({"desirable_weight", "undesirable_weight"}),
    ("grpo",): frozenset({"scale_rewards", "importance_sampling_level", "vllm_importance_sampling_correction"}),
    ("grpo", "rloo"): frozenset({"num_generations", "num_iterations", "steps_per_generation", "log_completions"}),
    # Of many, and not of SFT.
    (): frozenset({"beta", "max_prompt_length", "precompute_ref_log_probs", "reference_free"}),
    ("sft",): frozenset(
        {
            *("packing", "eval_packing", "packing_strategy", "completion_only_loss", "assistant_only_loss"),
            *("dataset_text_field", "dataset_kwargs", "max_seq_length"),
        }
    ),
}
# Keys under which programs that train in several ways say in which.
_SAYS_METHOD = ("task_type", "training_type", "train_type", "training_method", "method", "stage", "loss")
_SAID = frozenset({"sft", "dpo", "kto", "cpo", "orpo", "grpo", "rloo", "gkd"})


def scan(document: Document) -> Context:
    """The run that such a config describes; its kind is ``trl`` if the trainer is TRL's.

    Raises:
        Malformed: if it has too few of the Trainer's arguments, or is no YAML or JSON.
    """
    config = read_config(document, FEEDS)
    top = config.top
    if not isinstance(top.get("model_name_or_path"), str) or len(_TRAINER & top.keys()) < 2:
        raise Unrecognised("is not a TRL config, and has no arguments of transformers' Trainer", path=document.path)
    settings, skipped = settings_of(config, FEEDS)
    keys = keys_of(config)
    if training_arguments.TRL_OWN.isdisjoint(top):
        settings += training_arguments.drivers_by_arguments(top, Location(path=document.path))
        return replace(run_of(config, "transformers", settings, skipped), keys=keys)
    place = Location(path=document.path)
    settings.append(Setting(key="training.framework", value="trl", location=place))
    said = [str(top[key]) for key in _SAYS_METHOD if isinstance(top.get(key), str) and top[key] in _SAID]
    methods = tuple(said[:1]) or next((methods for methods, names in _METHODS.items() if names & top.keys()), ())
    settings += [Setting(key="training.method", value=one, location=place, presumed=True) for one in methods]
    settings += training_arguments.stored_as_loaded(top, place)
    if all(setting.key != "peft.method" for setting in settings):  # TRL makes no adapter unless it is asked for one
        settings.append(Setting(key="peft.method", value="none", location=place, presumed=True))
    return replace(run_of(config, "trl", settings, skipped), keys=keys)
