"""ms-swift's arguments: YAML configs of `swift sft` and its kin, and the ``args.json`` that a run leaves behind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting
from gradcompat.model.release_question import ReleaseQuestion
from gradcompat.scanners.configs import training_arguments
from gradcompat.scanners.configs.flat import key_places, read_config, run_of, settings_of
from gradcompat.scanners.configs.tool_defaults import imports_of, left_to_tool
from gradcompat.scanners.key_mapping import SEVERAL, Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace

_TUNER = Feed("peft.method", {"full": "none", "longlora": "lora"})
_SHIPPED = ("zero0", "zero1", "zero2", "zero3", "zero2_offload", "zero3_offload")

# The scales that weigh tokens; others leave tokens out.
_WEIGHED = ("react", "hermes", "qwen", "agentflan", "alpha_umi")

FEEDS: Feeds = {
    **training_arguments.FEEDS,
    "max_length": Feed("data.sequence_length"),  # longer samples are left out unless truncation_strategy says otherwise
    "model": Feed("model.name"),
    "model_id_or_path": Feed("model.name"),  # in version 2
    "batch_size": Feed("training.per_device_train_batch_size"),
    "tuner_type": _TUNER,
    "train_type": _TUNER,  # its name in version 3
    "sft_type": _TUNER,  # and in version 2
    "rlhf_type": Feed("training.method", {"rm": "reward", "simpo": "cpo"}),
    "task_type": Feed("training.method", {"generative_reranker": "generative_reranker"}, only=True),
    "padding_side": Feed("data.padding_side"),
    "train_dataloader_shuffle": Feed("data.shuffle"),
    "vllm_enable_lora": Feed("training.vllm_enable_lora"),
    "router_aux_loss_coef": Feed("model.output_router_logits", {"0": False, "0.0": False}, given=True),
    # Where one of these is asked for, its trainer takes the labels away from the model.
    "loss_scale": Feed("model.returns_loss", dict.fromkeys(_WEIGHED, False), only=True),
    "enable_dft_loss": Feed("model.returns_loss", {"true": False}, only=True),
    "enable_channel_loss": Feed("model.returns_loss", {"true": False}, only=True),
    "label_smoothing_factor": (Feed("training.label_smoothing_factor"), Feed("model.returns_loss", given=False)),
    "sleep_level": Feed("training.vllm_sleep_level"),
    "attn_impl": Feed("model.attn_implementation", {"flash_attn": "flash_attention_2"}),
    "quant_method": Feed("quantization.method", {"bnb": "bitsandbytes"}),
    "quant_bits": Feed("quantization.bits", {"0": None}),
    "bnb_4bit_use_double_quant": Feed("quantization.double_quant"),
    "modules_to_save": Feed("peft.modules_to_save", given=True),
    "target_parameters": Feed("peft.target_parameters", given=True),
    "layers_to_transform": Feed("peft.layers_to_transform", given=True),
    "lorap_lr_ratio": Feed("peft.optimizer", given="loraplus"),
    "global_world_size": Feed("distributed.processes"),
    "sequence_parallel_size": Feed("distributed.sequence_split", dict.fromkeys(SEVERAL, "ms-swift"), only=True),
    # The names of the DeepSpeed configs that ms-swift brings along.
    "deepspeed": (
        Feed("distributed.strategy", given="deepspeed"),
        Feed("deepspeed.zero_stage", {name: int(name[4]) for name in _SHIPPED}, only=True),
        Feed("deepspeed.offload_optimizer", {name: "cpu" if "off" in name else "none" for name in _SHIPPED}, only=True),
    ),
    "deepspeed.zero_optimization.stage": Feed("deepspeed.zero_stage"),
    "deepspeed.zero_optimization.overlap_comm": Feed("deepspeed.overlap_comm"),
    "deepspeed.zero_optimization.contiguous_gradients": Feed("deepspeed.contiguous_gradients"),
    "deepspeed.zero_optimization.offload_optimizer.device": Feed("deepspeed.offload_optimizer"),
    "deepspeed.zero_optimization.offload_param.device": Feed("deepspeed.offload_param"),
}

# Its Megatron: a trainer of its own, with few arguments in common with the other one.
MEGATRON: Feeds = {
    **{
        name: FEEDS[name]
        for name in (
            *("model", "tuner_type", "train_type", "rlhf_type", "packing", "padding_free", "max_length", "seed"),
            *("bf16", "fp16", "streaming", "num_train_epochs"),
        )
    },
    "torch_dtype": Feed("precision.mode", {"bfloat16": "bf16", "float16": "fp16", "float32": "no"}, only=True),
}

# How Megatron splits a model and counts samples: the configs of `megatron sft` and its kin have some of them.
_SPLITS = frozenset(
    {
        *("tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size"),
        *("micro_batch_size", "global_batch_size", "context_parallel_size"),
    }
)
_TUNERS = frozenset({"tuner_type", "train_type", "sft_type", "rlhf_type"})
# Words of ms-swift's that stand beside one of those, or alone in numbers.
_OWN = frozenset(
    {
        *("swift_version", "attn_impl", "quant_method", "quant_bits", "torch_dtype", "lazy_tokenize", "freeze_vit"),
        *("freeze_llm", "freeze_aligner", "lorap_lr_ratio", "model_dir", "model_info", "use_hf", "model_type"),
        *("add_version", "truncation_strategy", "loss_scale", "split_dataset_ratio", "create_checkpoint_symlink"),
        *("system", "model_id_or_path", "template", "template_type", "dataset"),
    }
)
_ACCUMULATION, _BATCH = "training.gradient_accumulation_steps", "training.per_device_train_batch_size"
# What steps are counted by where a run leaves them out: argument.py in 2.0.0 to 2.6.1, trainers/arguments.py from 3.2.2
# to 4.5.2. The releases between have the default of transformers.
_SAMPLES = 16
_COUNTS = (
    (ReleaseQuestion(package="ms-swift", operator="<", literal="3.0.0"),),
    (ReleaseQuestion(package="ms-swift", operator=">=", literal="3.2.2"),),
)
_COUNTS_NOT = (
    ReleaseQuestion(package="ms-swift", operator=">=", literal="3.0.0"),
    ReleaseQuestion(package="ms-swift", operator="<", literal="3.2.2"),
)
_DEFAULT = Location(path="default of ms-swift")
# Whose trainer weighs a micro-batch by its labels, whatever the model does: Seq2SeqTrainer.compute_loss from 2.5.2 on.
_COUNT = "model.uses_num_items_in_batch"
_COUNTING = (ReleaseQuestion(package="ms-swift", operator=">=", literal="2.5.2"),)
_OF_TEXT = frozenset({"sft", "pretrain"})
# Without one of these it is about inference, evaluation or sampling.
_TRAINING = frozenset(
    {"per_device_train_batch_size", "num_train_epochs", "gradient_accumulation_steps", "learning_rate"}
)


def scan(document: Document) -> Context:
    """The run that ms-swift's arguments describe.

    Raises:
        Malformed: if they are not ms-swift's, or no YAML or JSON.
    """
    config = read_config(document, FEEDS)
    top = config.top
    named = any(isinstance(top.get(name), str) for name in _TUNERS) or "swift_version" in top
    if named and not _SPLITS.isdisjoint(top) and "dataset" in top and "per_device_train_batch_size" not in top:
        return _of_megatron(document)
    if not named or len(_OWN & top.keys()) < 2 or _TRAINING.isdisjoint(top):
        raise Unrecognised("has no training arguments of ms-swift", path=document.path)
    if not any(top.get(name) for name in ("quant_bits", "quant_method", "load_in_4bit")):
        # `args.json` has every argument; that one then says nothing.
        config = replace(
            config, entries=tuple(entry for entry in config.entries if entry.name != "bnb_4bit_use_double_quant")
        )
    settings, skipped = settings_of(config, FEEDS)
    if streams_in_order(top):
        settings.append(Setting(key="data.shuffle", value=False, location=key_places(config)["dataset_shuffle"]))
    if not top.get("rlhf_type"):
        # `swift rlhf` takes a method of its own where it is given none, but whoever asks for it names one. The classes
        # of all other tasks derive from transformers' own.
        drives = "training.framework"
        settings.append(Setting(key=drives, value="transformers.Trainer", location=_DEFAULT, presumed=True))
    settings += weighed_by_labels(settings, top)
    context = run_of(config, "ms-swift", [*settings, *left_to_tool("ms-swift", settings)], skipped)
    return replace(context, imported=imports_of("ms-swift", top))


def _of_megatron(document: Document) -> Context:
    """The run of ms-swift's Megatron that a config describes."""
    config = read_config(document, MEGATRON)
    settings, skipped = settings_of(config, MEGATRON)
    settings.append(Setting(key="training.framework", value="megatron", location=Location(path=document.path)))
    return run_of(config, "ms-swift", settings, skipped)


def streams_in_order(given: Mapping[str, object]) -> bool:
    """Does a stream come in its own order? Its loader shuffles nothing, whatever is said of that one elsewhere."""
    said = {name: str(given.get(name)).lower() for name in ("streaming", "dataset_shuffle")}
    return said == {"streaming": "true", "dataset_shuffle": "false"} and "train_dataloader_shuffle" not in given


def micro_batches(stated: Iterable[Setting]) -> Iterator[Setting]:
    """The accumulation steps of a launch that leaves them out: as many as sixteen samples need, in most releases.

    Args:
        stated: what the launch says; one process where it says nothing of them, as then no launcher is called.
    """
    said = {setting.key: setting.value for setting in stated}
    batch, processes = said.get(_BATCH, 1), said.get("distributed.processes", 1)
    if _ACCUMULATION in said or said.get("training.method") == "grpo":  # of which some releases say one
        return
    if not (isinstance(batch, int) and isinstance(processes, int) and batch > 0 < processes):
        return
    steps = max(1, math.ceil(_SAMPLES / batch / processes))
    for value, where in (*((steps, one) for one in _COUNTS), (1, _COUNTS_NOT)):
        yield Setting(key=_ACCUMULATION, value=value, location=_DEFAULT, presumed=True, where=where)


def weighed_by_labels(stated: Iterable[Setting], arguments: Mapping[str, object]) -> Iterator[Setting]:
    """That the loss of a step is divided by all of its labels, which ms-swift does itself for language models.

    Args:
        stated: what the run says.
        arguments: the same by ms-swift's own names. Of classifiers, rewards and embeddings nothing is said.
    """
    methods = {setting.value for setting in stated if setting.key == "training.method"}
    aligned = methods - _OF_TEXT or arguments.get("rlhf_type")
    if not aligned and arguments.get("task_type") in ("causal_lm", None):
        yield Setting(key=_COUNT, value=True, location=_DEFAULT, where=_COUNTING)
