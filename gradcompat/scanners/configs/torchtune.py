"""torchtune's recipe configs: components by their import path, and the values of the recipe beside them."""

from __future__ import annotations

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting
from gradcompat.scanners.configs.class_paths import OPTIMIZER
from gradcompat.scanners.configs.flat import Entry, read_config, run_of
from gradcompat.scanners.configs.nested import stated
from gradcompat.scanners.configs.tool_defaults import imports_of, left_to_tool
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_ADAPTERS = ("lora", "qlora", "dora", "qdora")

FEEDS: Feeds = {
    "gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
    "batch_size": Feed("training.per_device_train_batch_size"),
    "epochs": Feed("training.num_train_epochs"),
    "seed": Feed("training.seed"),
    "shuffle": Feed("data.shuffle"),
    "tensor_parallel_dim": Feed(
        "distributed.strategy", {str(size): "tensor_parallel" for size in range(2, 129)}, only=True
    ),
    "resume_from_checkpoint": Feed("training.resume_from_checkpoint"),
    "clip_grad_norm": Feed("training.max_grad_norm"),
    "compile": Feed("training.torch_compile", {"false": False}, given=True),
    "enable_activation_checkpointing": Feed("training.gradient_checkpointing"),
    "dtype": Feed("precision.mode", {"bfloat16": "bf16", "fp32": "no", "float32": "no", "float16": "fp16"}),
    "device": Feed("host.device", {"cpu": "cpu", "mps": "mps", "xpu": "xpu"}, only=True),  # ROCm's is cuda, too
    # The recipe's own name for a model says what is trained of it: `_kind` makes the word.
    "model._component_": (
        Feed("peft.method", {**dict.fromkeys(_ADAPTERS, "lora"), "full": "none"}, only=True),
        Feed("quantization.method", {"qlora": "torchao", "qdora": "torchao"}, only=True),
        Feed("quantization.bits", {"qlora": 4, "qdora": 4}, only=True),
    ),
    "model.quantize_base": (
        Feed("quantization.method", {"true": "torchao"}, only=True),
        Feed("quantization.bits", {"true": 4}, only=True),
    ),
    "optimizer._component_": OPTIMIZER,
    "optimizer.weight_decay": Feed("optimizer.weight_decay"),
    "optimizer.fused": Feed("optimizer.fused"),
    "lr_scheduler._component_": Feed(
        "optimizer.scheduler",
        {
            f"torchtune.{module}.get_cosine_schedule_with_warmup": "cosine"
            for module in ("training.lr_schedulers", "training", "modules")
        },
        only=True,
    ),
    "loss._component_": Feed(
        "training.method",
        {
            # Cross entropy is what its recipes for finetuning, for QAT and, beside another loss, for distillation have.
            "torchtune.modules.loss.cewithchunkedoutputloss": "sft",
            "torch.nn.crossentropyloss": "sft",
            "torchtune.rlhf.loss.dpoloss": "dpo",
            "torchtune.modules.loss.dpoloss": "dpo",
            "torchtune.rlhf.loss.rsoloss": "dpo",
            "torchtune.rlhf.loss.simpoloss": "dpo",
            "torchtune.rlhf.loss.ppoloss": "ppo",
        },
        only=True,
    ),
    "dataset._component_": (),
    "dataset.packed": Feed("training.packing"),
    "tokenizer.max_seq_len": Feed("data.sequence_length"),
    "tokenizer._component_": (),
    "checkpointer._component_": Feed("training.framework", given="torchtune"),
}

_COMPONENT = lazy_pattern(r"_component_:\s*[\"']?(\w+)")
_KNOWN = frozenset({"torchtune", "torch", "torchao", "bitsandbytes"})  # others are code of one's own
_MODELS = "torchtune.models."
# Plain texts, of which every token counts: where they are packed, they fill one length.
_TEXTS = frozenset(
    f"torchtune.datasets.{name}_dataset" for name in ("text_completion", "wikitext", "cnn_dailymail_articles")
)
_COMPONENTS = ("model._component_", "tokenizer._component_", "checkpointer._component_", "loss._component_")


def scan(document: Document) -> Context:
    """The run that a torchtune config describes.

    Raises:
        Malformed: if none of its components is torchtune's, or it is no YAML.
    """
    config = read_config(document, FEEDS)
    named = [config.value(name) for name in _COMPONENTS]
    if not any(isinstance(one, str) and one.startswith("torchtune.") for one in named):
        raise Unrecognised("is not a torchtune config", path=document.path)
    components = config.entries
    config = replace(config, entries=tuple(_kind(entry) for entry in components))
    settings, skipped = stated(config, FEEDS)
    own = not _KNOWN.issuperset(_COMPONENT.findall(document.text))
    # None of transformers: whatever a record says of a class there, the model is of another one.
    settings += [
        Setting(key="model.architecture", value=(entry.value,), location=entry.location)
        for entry in components
        if entry.name == "model._component_" and isinstance(entry.value, str) and entry.value.startswith(_MODELS)
    ]
    settings += [
        Setting(key="data.unequal_labels", value=False, location=entry.location, presumed=True)
        for entry in components
        if entry.name == "dataset._component_" and entry.value in _TEXTS and config.value("dataset.packed") is True
    ]
    context = run_of(config, "torchtune", [*settings, *left_to_tool("torchtune", settings)], skipped)
    return replace(context, imported=imports_of("torchtune", config.top, own=own))


def _kind(entry: Entry) -> Entry:
    """``torchtune.models.llama3.qlora_llama3_8b`` is a qlora; what has no such prefix is trained as a whole."""
    if entry.name != "model._component_" or not isinstance(entry.value, str):
        return entry
    prefix = entry.value.rpartition(".")[2].partition("_")[0]
    if prefix in _ADAPTERS:
        return replace(entry, value=prefix)
    return replace(entry, value="full") if entry.value.startswith(_MODELS) else entry
