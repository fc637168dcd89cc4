"""DeepSpeed's JSON, and GPT-NeoX's YAML, which is the same keys beside those of a whole run.

DeepSpeed reads its file as Hjson, with comments and trailing commas; transformers and accelerate read the same file as
JSON and refuse them. ``auto`` is transformers' word: the value comes from the Trainer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting, SettingValue, Skipped
from gradcompat.scanners.configs.flat import Config, Entry, read_config
from gradcompat.scanners.configs.nested import stated
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# The engine builds these from its own kernels. Where others come from depends on offloading and on what is installed.
_OWN_OPTIMIZERS = dict.fromkeys(
    ("adam", "adamw", "lamb", "lion", "onebitadam", "onebitlamb", "zerooneadam", "muon"), "deepspeed"
)
_DTYPES = {"float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16"}
_ON_CPU = {"true": "cpu", "false": "none"}  # how offloading was asked for before it had a device

ENGINE_FEEDS: Feeds = {
    "train_micro_batch_size_per_gpu": Feed("training.per_device_train_batch_size"),
    "gradient_accumulation_steps": Feed("training.gradient_accumulation_steps"),
    "gradient_clipping": Feed("deepspeed.gradient_clipping"),
    "bf16.enabled": Feed("precision.mode", {"true": "bf16", "false": "no", "auto": None}, only=True),
    "bfloat16.enabled": Feed("precision.mode", {"true": "bf16", "false": "no", "auto": None}, only=True),
    "fp16.enabled": Feed("precision.mode", {"true": "fp16", "false": "no", "auto": None}, only=True),
    "amp.enabled": Feed("precision.mode", {"true": None}, only=True),  # apex: its levels are no mode of torch
    "bf16.immediate_grad_update": Feed("deepspeed.immediate_grad_update"),
    "zero_optimization": (
        Feed("deepspeed.zero_stage", {"true": 1, "false": 0}, only=True),  # before there were stages
        Feed("distributed.strategy", given="deepspeed"),
    ),
    "zero_optimization.stage": Feed("deepspeed.zero_stage"),
    "zero_optimization.offload_optimizer.device": Feed("deepspeed.offload_optimizer"),
    "zero_optimization.offload_param.device": Feed("deepspeed.offload_param"),
    "zero_force_ds_cpu_optimizer": Feed("deepspeed.forces_cpu_optimizer"),
    "zero_optimization.cpu_offload": Feed("deepspeed.offload_optimizer", _ON_CPU, only=True),
    "zero_optimization.cpu_offload_param": Feed("deepspeed.offload_param", _ON_CPU, only=True),
    "zero_optimization.overlap_comm": Feed("deepspeed.overlap_comm"),
    "zero_optimization.reduce_scatter": Feed("deepspeed.reduce_scatter"),
    "zero_optimization.contiguous_gradients": Feed("deepspeed.contiguous_gradients"),
    "zero_optimization.stage3_gather_16bit_weights_on_model_save": Feed("deepspeed.gather_16bit_weights"),
    "zero_optimization.stage3_gather_fp16_weights_on_model_save": Feed("deepspeed.gather_16bit_weights"),
    # `seq_parallel_communication_data_type` is about something else: the exchange of Ulysses' attention heads.
    "communication_data_type": Feed("deepspeed.communication_data_type"),
    "data_types.grad_accum_dtype": Feed("deepspeed.grad_accum_dtype", _DTYPES),
    "pipeline.stages": Feed("deepspeed.pipeline_stages"),
    "optimizer.type": (Feed("optimizer.name"), Feed("optimizer.library", _OWN_OPTIMIZERS, only=True)),
    "optimizer.params.torch_adam": Feed("optimizer.library", {"true": "torch"}, only=True),
    "optimizer.params.weight_decay": Feed("optimizer.weight_decay"),
    "scheduler.type": (Feed("optimizer.scheduler"), Feed("deepspeed.own_scheduler", given=True)),
    "scheduler.params.warmup_max_lr": Feed("optimizer.warmup_peak", {"auto": True}, given=True),
}

_NEOX_OWN: Feeds = {
    "pipe_parallel_size": Feed("deepspeed.pipeline_stages"),
    "precision": Feed("precision.mode", {"bfloat16": "bf16", "fp32": "no"}),
    "checkpoint_activations": Feed("training.gradient_checkpointing"),
    "seq_length": Feed("data.sequence_length"),
    "distributed_backend": Feed("distributed.backend"),
    "seed": Feed("training.seed"),
    "weight_decay": Feed("optimizer.weight_decay"),
    "lr_decay_style": Feed("optimizer.scheduler"),
    "label_smoothing": Feed("training.label_smoothing_factor"),
    "train_impl": Feed("training.method", {"normal": "pretrain", "rm": "reward"}),
}
# GPT-NeoX has DeepSpeed's keys beside its own, which it takes with hyphens as well.
FEEDS: Feeds = {**ENGINE_FEEDS, **_NEOX_OWN, **{name.replace("_", "-"): feed for name, feed in _NEOX_OWN.items()}}

_SWITCHES = {"bf16.enabled": "bf16", "bfloat16.enabled": "bf16", "fp16.enabled": "fp16"}
# Keys at the top that no other tool has there.
_OWN = (
    *("zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer"),
    *("zero_force_ds_cpu_optimizer", "wall_clock_breakdown", "steps_per_print", "seq_parallel_communication_data_type"),
)
# What `auto` leaves to the arguments of the Trainer, as a file does that says nothing; the engine has no such word.
OF_TRAINER = frozenset(
    {
        *("train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "bf16.enabled", "fp16.enabled"),
        *("bfloat16.enabled", "optimizer.params.weight_decay"),
    }
)
_GATHERING = lazy_pattern(r"stage3_gather_(?:fp16|16bit)_weights_on_model_save")
_OFFLOADING = ("zero_optimization.offload_optimizer", "zero_optimization.cpu_offload")
_NEOX = frozenset(
    {
        *("pipe_parallel_size", "model_parallel_size", "pos_emb", "checkpoint_activations", "gpt_j_residual"),
        *("train_iters", "lr_decay_iters", "partition_activations", "synchronize_each_layer", "no_weight_tying"),
        *("scaled_upper_triang_masked_softmax_fusion", "tokenizer_type", "output_layer_init_method", "precision"),
    }
)
_NEOX_LEAST = 3
SIZES = ("train_micro_batch_size_per_gpu", "train_batch_size")

# Strings are matched so that nothing inside of them is taken for a comment.
_COMMENT = lazy_pattern(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|#[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING = lazy_pattern(r'"(?:[^"\\\n]|\\.)*"?|,(?=\s*[}\]])')


def scan(document: Document) -> Context:
    """What a DeepSpeed config says, or the run that a GPT-NeoX config describes.

    Raises:
        Malformed: if it is neither, or cannot be parsed.
    """
    is_yaml = document.path.lower().endswith((".yaml", ".yml"))
    bare, notes = (_as_yaml(document), []) if is_yaml else _without_comments(document)
    config = read_config(bare, FEEDS)
    keys = {key.replace("-", "_") for key in config.top}
    if len(keys & _NEOX) >= _NEOX_LEAST:
        if _COMMENT.sub(_blank, document.text).lstrip("\ufeff \t\r\n").startswith("{"):
            config = replace(config, entries=tuple(_quoted(entry) for entry in config.entries))
        settings, skipped = stated(config, FEEDS, _SWITCHES)
        return Context(
            source=document.path,
            kind="gpt-neox",
            settings=(
                # Its optimizers have the same names, and come from apex where that is installed.
                *(setting for setting in settings if setting.key != "optimizer.library"),
                # The loop is its own, a fork of Megatron's.
                Setting(key="training.framework", value="megatron", location=Location(path=document.path)),
            ),
            run=True,
            skipped=tuple(skipped),
        )
    if is_yaml or not _is_deepspeed(config):
        raise Unrecognised("is not a DeepSpeed config", path=document.path)
    config = replace(config, entries=tuple(entry for entry in config.entries if entry.name in ENGINE_FEEDS))
    said = (entry for entry in config.entries if entry.value != "auto" or entry.name not in OF_TRAINER)
    own = replace(config, entries=tuple(said))
    settings, skipped = stated(own, ENGINE_FEEDS, _SWITCHES)
    return Context(
        source=document.path,
        kind="deepspeed",
        settings=(
            *_corrected(settings),
            *_not_offloaded(config),
            *_without_zero(config, document.path),
            *_left_out_of_stage(config),
            *_accumulating_alike(config),
            *_not_accumulating(config, document.path),
            *not_gathered(config, "zero_optimization.stage", asked=_asks_for_whole_weights(config)),
        ),
        run=False,
        skipped=(*notes, *skipped),
    )


def _is_deepspeed(config: Config) -> bool:
    enabled = any(config.value(name) is not None for name in _SWITCHES)
    return any(key in config.top for key in _OWN) or (enabled and "train_batch_size" in config.top)


def _as_yaml(document: Document) -> Document:
    """What looks like JSON and is read as YAML, with YAML's comments, words and commas."""
    text = document.text.lstrip("\ufeff")
    return replace(document, text=f"--- {text}") if text.startswith("{") else document


def _without_comments(document: Document) -> tuple[Document, list[Skipped]]:
    """The same text with blanks in the place of comments and of commas behind a last element, so that places stay."""
    found: list[Skipped] = []
    text = document.text
    for pattern, what in ((_COMMENT, "comments"), (_TRAILING, "a comma after the last element")):
        first = next((match for match in pattern.finditer(text) if not match[0].startswith('"')), None)
        if first is None:
            continue
        line = text.count("\n", 0, first.start()) + 1
        reason = "DeepSpeed itself ignores it, transformers and accelerate reject such a file"
        location = Location(path=document.path, line=line)
        found.append(Skipped(what=what, reason=reason, gap=False, location=location))
        text = pattern.sub(_blank, text)
    return replace(document, text=text), found


def _quoted(entry: Entry) -> Entry:
    """As the line stands in YAML that is written like JSON."""
    if entry.spelling is None:
        return entry
    key, colon, rest = entry.spelling.rpartition(":")
    return replace(entry, spelling=f'"{key}"{colon}{rest}')


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def _not_offloaded(config: Config) -> tuple[Setting, ...]:
    """A file that asks for a stage and not for offloading keeps the optimizer where it is.

    The engine, transformers and accelerate put no offloading into a file that has none; they only fill in ``auto``.
    """
    stage = next((entry for entry in config.entries if entry.name == "zero_optimization.stage"), None)
    if stage is None or any(entry.name.startswith(_OFFLOADING) for entry in config.entries):
        return ()
    return (Setting(key="deepspeed.offload_optimizer", value="none", location=stage.location),)


def _without_zero(config: Config, path: str) -> tuple[Setting, ...]:
    """A file that does not speak of ZeRO is stage 0 for the engine; accelerate refuses it."""
    if "zero_optimization" in config.top:
        return ()
    return (Setting(key="deepspeed.zero_stage", value=0, location=Location(path=path)),)


def _left_out_of_stage(config: Config) -> list[Setting]:
    """What a file that asks for a stage says by leaving it out: trainers only fill in ``auto``, and nothing is clipped;
    the scheduler is the Trainer's or the program's.
    """
    stage = next((entry for entry in config.entries if entry.name == "zero_optimization.stage"), None)
    if stage is None:
        return []
    values: dict[str, SettingValue] = {}
    if not any(entry.name == "gradient_clipping" for entry in config.entries):
        values["deepspeed.gradient_clipping"] = 0.0
    if "scheduler" not in config.top:
        values["deepspeed.own_scheduler"] = False
    return [Setting(key=key, value=value, location=stage.location) for key, value in values.items()]


def _accumulating_alike(config: Config) -> list[Setting]:
    """``"gradient_accumulation_steps": "auto"`` is the number of the program."""
    said = (one for one in config.entries if one.name == "gradient_accumulation_steps" and one.value == "auto")
    return [Setting(key="deepspeed.same_accumulation", value=True, location=one.location) for one in said]


def _not_accumulating(config: Config, path: str) -> list[Setting]:
    """A file that gives the size of a micro-batch or of the batch alone has one micro-batch a step.

    The engine takes 1 then; where it is told both sizes, the processes decide. The Trainer and accelerate have a number
    of their own, which a file that says nothing leaves alone.
    """
    sizes = [name for name in SIZES if name in config.top]
    if "gradient_accumulation_steps" in config.top or len(sizes) != 1 or config.top[sizes[0]] == "auto":
        return []
    key = "training.gradient_accumulation_steps"
    return [Setting(key=key, value=1, location=Location(path=path), presumed=True)]


def not_gathered(config: Config, stage_key: str, *, asked: bool) -> tuple[Setting, ...]:
    """What asks for ZeRO-3 and not for whole weights gathers none where a model is saved.

    Args:
        config: a config of DeepSpeed, or of a launcher that makes one.
        stage_key: its key for the stage.
        asked: it asks for whole weights or leaves them out by a word of its own, or another file may.
    """
    stage = next((entry for entry in config.entries if entry.name == stage_key), None)
    if stage is None or str(stage.value) != "3" or asked:
        return ()
    return (Setting(key="deepspeed.gather_16bit_weights", value=False, location=stage.location),)


def _asks_for_whole_weights(config: Config) -> bool:
    return any(_GATHERING.search(entry.name) for entry in config.entries)


def _corrected(settings: list[Setting]) -> tuple[Setting, ...]:
    """``torch_adam`` takes torch's Adam in the place of DeepSpeed's."""
    torch = any(setting.key == "optimizer.library" and setting.value == "torch" for setting in settings)
    return tuple(
        setting
        for setting in settings
        if not (torch and setting.key == "optimizer.library" and setting.value == "deepspeed")
    )


def left_to_engine(given: Mapping[str, object]) -> Iterator[tuple[str, str | float]]:
    """What a config of DeepSpeed in the program leaves out, where it asks for a stage; one without ZeRO is stage 0."""
    names = [name.partition(".")[2] for name in given]
    plain = any(names) and not any(name.startswith("zero_optimization") for name in names)
    staged = "zero_optimization.stage" in names
    if plain:
        yield "deepspeed.zero_stage", 0
    if staged and not any("offload" in name for name in names):
        yield "deepspeed.offload_optimizer", "none"
    if (plain or staged) and "gradient_clipping" not in names:
        yield "deepspeed.gradient_clipping", 0.0
    if staged and "gradient_accumulation_steps" not in names and sum(size in names for size in SIZES) == 1:
        yield "training.gradient_accumulation_steps", 1  # of both sizes it would be the ratio
