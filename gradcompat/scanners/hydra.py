"""Configs that Hydra composes, as far as they are literal: nothing is composed, no interpolation is resolved.

A mapping with a ``_target_`` holds the arguments of that class, wherever it stands. Beside it only words are read that
mean the same in every project. The files that ``defaults:`` takes from the config groups are referred to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcompat.errors import Malformed
from gradcompat.formats import yaml_nodes
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners import adapter_config, lightning_cli, training_arguments
from gradcompat.scanners.class_paths import OPTIMIZER
from gradcompat.scanners.configs import Config, Entry, run_of
from gradcompat.scanners.feeding import Feed, Feeds
from gradcompat.scanners.nested import stated

_MAX_DEPTH = 12
_LONGEST = 200  # characters of a name in `defaults`

# Words with one meaning, at any level.
_ANYWHERE: Feeds = {
    **{
        name: training_arguments.FEEDS[name]
        for name in (
            *("gradient_accumulation_steps", "per_device_train_batch_size", "gradient_checkpointing"),
            *("label_smoothing_factor", "attn_implementation", "model_name_or_path", "neftune_noise_alpha"),
            *("average_tokens_across_devices", "use_liger_kernel", "gradient_checkpointing_kwargs.use_reentrant"),
        )
    },
    "accumulate_grad_batches": lightning_cli.TRAINER["accumulate_grad_batches"],
    "enable_gradient_checkpointing": Feed("training.gradient_checkpointing"),
    "pretrained_model_name_or_path": Feed("model.name"),
}
# The arguments of classes, by the class's name.
_CLASSES: dict[str, Feeds] = {
    "Trainer": {**lightning_cli.TRAINER, "_target_": Feed("training.framework", given="lightning")},
    "TrainingArguments": training_arguments.FEEDS,
    "LoraConfig": {
        **{name: feed for name, feed in adapter_config.FEEDS.items() if name in adapter_config.OPTIONS},
        "_target_": Feed("peft.method", given="lora"),
    },
    "BitsAndBytesConfig": {
        "load_in_4bit": training_arguments.BITS_4,
        "load_in_8bit": training_arguments.BITS_8,
        "bnb_4bit_use_double_quant": Feed("quantization.double_quant"),
    },
    "optimizer": {
        "_target_": OPTIMIZER,
        "weight_decay": Feed("optimizer.weight_decay"),
        "fused": Feed("optimizer.fused"),
    },
}

FEEDS: Feeds = {
    **_ANYWHERE,
    **{f"{owner}.{name}": feed for owner, feeds in _CLASSES.items() for name, feed in feeds.items() if "." not in name},
}

_SWITCHES = {"TrainingArguments.bf16": "bf16", "TrainingArguments.fp16": "fp16"}
_LIGHTNING = ("lightning.", "pytorch_lightning.")
# What derives from TrainingArguments.
_ARGUMENTS = frozenset(
    {"SFTConfig", "DPOConfig", "ORPOConfig", "KTOConfig", "GRPOConfig", "RewardConfig", "CPOConfig", "GKDConfig"}
)
_OPTIMIZERS = OPTIMIZER[0].values


def scan(document: Document) -> Context:
    """The run, or the part of one, that a config of Hydra's describes.

    Raises:
        Malformed: if it has nothing of Hydra's, says nothing of training, or is no YAML.
    """
    top = yaml_nodes.parse_mapping(document.text, document.path)
    listed = top.entries.get("defaults")
    composed = isinstance(listed, yaml_nodes.Sequence) or isinstance(top.entries.get("hydra"), yaml_nodes.Mapping)
    package = any(line.startswith("# @package") for line in document.text[:1000].split("\n"))
    mappings = list(_mappings(top))
    if not composed and not package and all("_target_" not in mapping.entries for _, mapping in mappings):
        raise Malformed("has neither `defaults` nor a `_target_`, as Hydra's configs do", path=document.path)
    entries = [entry for key, mapping in mappings for entry in _entries(key, mapping, document.path)]
    entries.sort(key=lambda one: (one.location.line or 0, one.location.column or 0))
    config = lightning_cli.literal(
        Config(document, {}, tuple(entries), _duplicates(mappings, document.path)), "Trainer."
    )
    settings, skipped = stated(config, FEEDS, _SWITCHES)
    files = tuple(_files(listed.items)) if isinstance(listed, yaml_nodes.Sequence) else ()
    if not settings and not any("train" in file for file in files):
        raise Malformed("says nothing of a training run", path=document.path)
    if composed or (not package and "_target_" not in top.entries):
        return run_of(config, "hydra", settings, skipped, refers_to=files)
    # A file of a config group: part of the runs that choose it.
    return Context(source=document.path, kind="hydra", settings=tuple(settings), run=False, skipped=tuple(skipped))


def _mappings(top: yaml_nodes.Mapping) -> Iterator[tuple[str, yaml_nodes.Mapping]]:
    """Every mapping with the key that it stands at, each once, however often an alias names it."""
    seen: set[int] = set()
    waiting: list[tuple[str, yaml_nodes.Node, int]] = [("", top, 0)]
    while waiting:
        key, node, depth = waiting.pop()
        if isinstance(node, yaml_nodes.Scalar) or id(node) in seen or depth > _MAX_DEPTH:
            continue
        seen.add(id(node))
        if isinstance(node, yaml_nodes.Sequence):
            waiting.extend((key, one, depth + 1) for one in node.items)
        elif depth == 0 or key not in ("defaults", "hydra"):
            yield key, node
            waiting.extend((name, one, depth + 1) for name, one in node.entries.items())


def _entries(key: str, mapping: yaml_nodes.Mapping, path: str) -> Iterator[Entry]:
    """The values of a mapping that a table has feeds for, named as the table of all of them names them."""
    owner = _class(key, mapping)
    for name, node in mapping.entries.items():
        if key == "gradient_checkpointing_kwargs":
            known = f"{key}.{name}"
        else:
            known = f"{owner}.{name}" if f"{owner}.{name}" in FEEDS else name
        if known in FEEDS and ("." not in name):
            place = Location(path=path, line=node.line, column=node.column)
            yield Entry(known, _value(node), place, f"{name}: {{}}")


def _class(key: str, mapping: yaml_nodes.Mapping) -> str | None:
    """The class whose arguments a mapping holds, of those that have a table."""
    target = mapping.text("_target_")
    if target is None:
        lightning = key == "trainer" and len(mapping.entries.keys() & lightning_cli.OWN) >= lightning_cli.LEAST
        return "Trainer" if lightning else None
    name = target.rpartition(".")[2]
    if name.endswith("TrainingArguments") or name in _ARGUMENTS:
        return "TrainingArguments"
    if name == "Trainer":
        return name if target.startswith(_LIGHTNING) else None
    if target.lower() in _OPTIMIZERS:
        return "optimizer"
    return name if name in _CLASSES else None


def _value(node: yaml_nodes.Node) -> Any:
    if isinstance(node, yaml_nodes.Scalar):
        return node.value
    if isinstance(node, yaml_nodes.Sequence):
        return [one.text if isinstance(one, yaml_nodes.Scalar) else None for one in node.items]
    return dict.fromkeys(node.entries)


def _files(items: list[yaml_nodes.Node]) -> Iterator[str]:
    """The files that `defaults` names, relative to the folder of configs: ``trainer: ddp`` is ``trainer/ddp.yaml``."""
    for item in items:
        if isinstance(item, yaml_nodes.Scalar):
            pairs: list[tuple[str, yaml_nodes.Node]] = [("", item)]
        else:
            pairs = list(item.entries.items()) if isinstance(item, yaml_nodes.Mapping) else []
        for group, node in pairs:
            words = group.removeprefix("optional ").removeprefix("override ").partition("@")[0].strip(" /")
            for one in node.items if isinstance(node, yaml_nodes.Sequence) else [node]:
                if not isinstance(one, yaml_nodes.Scalar) or not isinstance(one.value, str):
                    continue
                name = one.text.partition("@")[0].strip(" /")
                if name and name != "_self_" and "$" not in name and len(name) < _LONGEST:
                    name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
                    yield f"{words}/{name}" if words else name


def _duplicates(mappings: list[tuple[str, yaml_nodes.Mapping]], path: str) -> tuple[Skipped, ...]:
    return tuple(
        Skipped(
            what=key.text[:_LONGEST],
            reason="stands more than once, the last value counts",
            gap=False,
            location=Location(path=path, line=key.line, column=key.column),
        )
        for _, mapping in mappings
        for key in mapping.duplicates
    )
