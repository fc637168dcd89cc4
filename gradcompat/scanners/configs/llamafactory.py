"""LLaMA-Factory's training configs, in YAML and JSON: arguments of its own beside those of transformers' Trainer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.code_use import CodeUse
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting
from gradcompat.model.release_question import ReleaseQuestion
from gradcompat.scanners.adapter_targets import are_of_attention
from gradcompat.scanners.configs import training_arguments
from gradcompat.scanners.configs.adapter_folders import is_below, is_of_stage
from gradcompat.scanners.configs.flat import Config, key_places, read_config, run_of, settings_of
from gradcompat.scanners.configs.model_names import architecture_of, presumed_architecture_of
from gradcompat.scanners.configs.tool_defaults import imports_of, left_to_tool
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

ATTENTION = "model.attn_implementation"
FEEDS: Feeds = {
    **training_arguments.FEEDS,
    "stage": (
        Feed("training.method", {"pt": "pretrain", "rm": "reward"}),
        # CustomTrainer, CustomSeq2SeqTrainer and PairwiseTrainer derive from transformers' own, and those of the other
        # stages from TRL's, with transformers' arguments (read in 0.9.1, 0.9.3 and 0.9.4).
        Feed("training.framework", dict.fromkeys(("pt", "sft", "rm"), "transformers.Trainer"), only=True),
    ),
    "finetuning_type": (
        Feed("peft.method", {"full": "none", "freeze": "none"}),
        # All but some layers is frozen, the embeddings with it unless `freeze_extra_modules` names them.
        Feed("training.frozen_embeddings", {"freeze": True}, only=True),
    ),
    "additional_target": Feed("peft.modules_to_save", given=True),
    "loraplus_lr_ratio": Feed("peft.optimizer", given="loraplus"),
    "quantization_bit": (
        Feed("quantization.bits"),
        Feed("quantization.float_storage", {"4": True}, only=True),  # it asks for the dtype that it computes in
    ),
    "quantization_method": Feed("quantization.method", {"bnb": "bitsandbytes"}),
    "double_quantization": Feed("quantization.double_quant"),
    "flash_attn": Feed(
        ATTENTION,
        # What `false` stood for before the values were words depends on the version.
        {
            "fa2": "flash_attention_2",
            "fa3": "flash_attention_3",
            "true": "flash_attention_2",
            "disabled": "eager",
            "false": None,
        },
    ),
    "disable_gradient_checkpointing": Feed(
        "training.gradient_checkpointing", {"true": False, "false": True}, only=True
    ),
    "use_reentrant_gc": Feed("training.use_reentrant"),
    "enable_liger_kernel": Feed("training.use_liger_kernel"),
    # Each sample of a pack sees itself alone; `packing` without it lets them see one another.
    "neat_packing": (
        Feed("training.packing", {"true": True}, only=True),
        Feed("training.packing_strategy", {"true": "neat"}, only=True),
    ),
    "cutoff_len": Feed("data.sequence_length"),
    "disable_shuffling": Feed("data.shuffle", {"true": False, "false": True}, only=True),
    "pref_loss": Feed("training.loss_type"),
    "dpo_loss": Feed("training.loss_type"),
    "pref_ftx": Feed("training.sft_weight"),
    "neftune_alpha": Feed("training.neftune_noise_alpha"),
    "moe_aux_loss_coef": Feed("model.output_router_logits", given=True),
    "pure_bf16": Feed("precision.mode", {"true": "bf16"}, only=True),
    "fp8": Feed("precision.mode", {"true": "fp8"}, only=True),
    "use_galore": Feed("optimizer.name", {"true": "galore"}, only=True),
    "use_apollo": Feed("optimizer.name", {"true": "apollo"}, only=True),
    "use_badam": Feed("optimizer.name", {"true": "badam"}, only=True),
    "use_adam_mini": Feed("optimizer.name", {"true": "adam_mini"}, only=True),
    "use_muon": Feed("optimizer.name", {"true": "muon"}, only=True),
}

_STAGES = frozenset({"pt", "sft", "rm", "ppo", "dpo", "kto", "orpo"})
_TYPES = frozenset({"lora", "oft", "freeze", "full", "none"})
# Keys that stand beside those two in its configs, and hardly ever in those of others.
_OWN = frozenset(
    {
        *("dataset", "dataset_dir", "template", "cutoff_len", "max_samples", "val_size", "plot_loss", "lora_target"),
        *("quantization_bit", "overwrite_cache", "flash_attn", "pref_loss", "lora_rank", "additional_target"),
    }
)
# Without one of these it is about inference, evaluation or export.
_TRAINING = frozenset(
    {"per_device_train_batch_size", "gradient_accumulation_steps", "learning_rate", "num_train_epochs"}
)
# Sizes of Megatron's groups: its trainer then takes the place of transformers' own.
_MEGATRON = frozenset({"tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size"})
_ARGUMENTS = "Seq2SeqTrainingArguments"
_OWN_ARGUMENTS = "hparams.FinetuningArguments"
_OF_ITS_OWN = (
    f"llamafactory.{_OWN_ARGUMENTS}",
    *(f"llamafactory.hparams.{name}Arguments" for name in ("Model", "Data", "Generating", "Evaluation")),
    *(f"llamafactory.hparams.training_args.{name}Arguments" for name in ("Ray", "Fp8", "Profiler")),
)
_BESIDE = (*_OF_ITS_OWN[1:], f"transformers.{_ARGUMENTS}")
# What LLaMA-Factory (0.9.4) declares itself since transformers 5.0.0 does not.
_TAKEN_BACK = frozenset({"overwrite_output_dir"})
# Templates of models that see or hear, which alone have a processor (data/template.py in 0.9.5).
_OF_PROCESSOR = lazy_pattern(
    r"llava|_vl(?:_|$)|_omni|_audio|minicpm_[vo]|paligemma|pixtral|mllama|llama4|gemma3n|glm\S*v$"
)
# Switches that put another optimizer in the place of the one that `optim` names.
_REPLACED = ("use_galore", "use_apollo", "use_badam", "use_adam_mini", "use_muon")


def scan(document: Document) -> Context:
    """The run that a LLaMA-Factory config describes.

    Raises:
        Malformed: if it is no LLaMA-Factory config, or no YAML or JSON.
    """
    config = read_config(document, FEEDS)
    if not _is_ours(config):
        raise Unrecognised("is not a LLaMA-Factory training config", path=document.path)
    top = config.top
    if any(top.get(switch) is True for switch in _REPLACED):
        config = replace(config, entries=tuple(entry for entry in config.entries if entry.name != "optim"))
    settings, skipped = settings_of(config, FEEDS)
    if keeps_attention(top):
        settings = [one for one in settings if one.key != ATTENTION]
    if "adapter_name_or_path" in top:
        place = next(place for key, place in key_places(config).items() if key == "adapter_name_or_path")
        settings.append(Setting(key="training.resumed_adapter_alone", value=resumes_alone(top), location=place))
    targets = top.get("lora_target")
    if isinstance(targets, str) and are_of_attention(targets.split(",")):
        place = key_places(config)["lora_target"]
        settings.append(Setting(key="peft.attention_only", value=True, location=place))
    settings += refused_counts(top, key_places(config).get("stage"))
    settings += counted_alike(top, key_places(config).get("stage"))
    if top.get("freeze_extra_modules") is not None:
        settings = [setting for setting in settings if setting.key != "training.frozen_embeddings"]
    if not _MEGATRON.isdisjoint(top):  # which has arguments of its own
        drives = "training.framework"
        settings = [replace(one, value="megatron") if one.key == drives else one for one in settings]
        return run_of(config, "llamafactory", settings, skipped)
    context = run_of(config, "llamafactory", [*settings, *left_to_tool("llamafactory", settings)], skipped)
    return replace(context, uses=tuple(_arguments(config)), imported=imports_of("llamafactory", top))


def keeps_attention(top: Mapping[str, object]) -> bool:
    """Is the attention what the model takes by itself: ``flash_attn: auto``, for whatever is no Gemma 2?

    model/model_utils/attention.py in 0.9.1 and 0.9.3: of Gemma 2 it is flash attention where that is installed, else
    eager.
    """
    name = str(top.get("model_name_or_path")).lower()
    return top.get("flash_attn") == "auto" and "gemma-2" not in name and "gemma2" not in name


def resumes_alone(top: Mapping[str, object]) -> bool:
    """Is the adapter that is named trained on, in a stage that compares it with what the adapter's absence gives?

    Of several adapters, ``sft,dpo``, the first ones are merged: what the last one's absence gives has them. So is it
    right where the stage goes on with its own adapter. Words of a command line are texts.
    """
    stage, named = top.get("stage"), top.get("adapter_name_or_path")
    compares = stage in ("dpo", "kto", "ppo") and top.get("pref_loss") not in ("orpo", "simpo")
    own = isinstance(named, str) and (is_of_stage(named, str(stage)) or is_below(named, str(top.get("output_dir", ""))))
    alone = named is not None and not own and not (isinstance(named, str) and "," in named)
    adapts = top.get("finetuning_type", "lora") == "lora"
    anew = str(top.get("create_new_adapter") or False).lower() in ("true", "1")
    return compares and alone and adapts and not anew and top.get("ref_model") is None


def refused_counts(top: Mapping[str, object], place: Location | None) -> list[Setting]:
    """What its trainers tell the Trainer of a model that has a processor: that it counts no labels.

    They set model_accepts_loss_kwargs = False in the stages pt and sft from 0.9.3 on, not in 0.9.2.
    """
    name, template = top.get("model_name_or_path"), top.get("template")
    classes = (architecture_of(name) or presumed_architecture_of(name) or ()) if isinstance(name, str) else ()
    sees = any(one.endswith("ForConditionalGeneration") for one in classes)
    if place is None or top.get("stage") not in ("pt", "sft") or not (sees or _OF_PROCESSOR.search(str(template))):
        return []
    key, since = "model.forward_takes_kwargs", ReleaseQuestion(package="llamafactory", operator=">=", literal="0.9.3")
    told = [Setting(key=key, value=False, location=place, where=(since,))]
    if any("Llava" in one for one in classes):
        # What these classes say themselves: a question where LLaMA-Factory's release is not listed.
        takes = ReleaseQuestion(package="transformers", operator=">=", literal="4.49.0")
        told.append(Setting(key=key, value=True, location=place, where=(since.opposite, takes)))
    return told


def counted_alike(top: Mapping[str, object], place: Location | None) -> list[Setting]:
    """Pretraining packs unless it is told otherwise, into blocks of one length of which every token counts.

    hparams/parser.py and data/processor/pretrain.py in 0.7.1 and 0.9.3.
    """
    if place is None or top.get("stage") != "pt" or str(top.get("packing")).lower() == "false":
        return []
    return [Setting(key="data.unequal_labels", value=False, location=place, presumed=True)]


def _arguments(config: Config) -> Iterator[CodeUse]:
    """The keys as arguments of transformers, from which those of LLaMA-Factory inherit: what neither has ends it."""
    for key, place in key_places(config).items():
        yield CodeUse(
            kind="option", module="llamafactory", name=_OWN_ARGUMENTS, keyword=key, others=_BESIDE, location=place
        )
        if key not in _TAKEN_BACK:
            yield CodeUse(
                kind="keyword", module="transformers", name=_ARGUMENTS, keyword=key, others=_OF_ITS_OWN, location=place
            )


def _is_ours(config: Config) -> bool:
    top = config.top
    stage, tuning = top.get("stage") in _STAGES, top.get("finetuning_type") in _TYPES
    trains = top.get("do_train") is True or (top.get("do_train") is None and not _TRAINING.isdisjoint(top))
    ours = (stage and tuning) or ((stage or tuning) and not _OWN.isdisjoint(top))
    return ours and trains and "model_name_or_path" in top
