"""Configs that Hydra composes, as far as they are literal.

A mapping with a ``_target_`` holds the arguments of that class, wherever it stands. Beside it only words are read that
mean the same in every project. The files that ``defaults:`` takes from the config groups are merged as Hydra does it;
of a config that lies nowhere (standard input) they are referred to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from gradcompat.errors import Unrecognised
from gradcompat.formats import yaml_nodes, yaml_text
from gradcompat.formats.document import Document
from gradcompat.model.context import Composed, ConfigValue, Context, Override
from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.quotation import quoted
from gradcompat.scanners.code.call_lines import SECRET, is_word
from gradcompat.scanners.configs import adapter_config, lightning_cli, training_arguments
from gradcompat.scanners.configs.class_paths import OPTIMIZER
from gradcompat.scanners.configs.flat import Config, Entry, run_of
from gradcompat.scanners.configs.hydra_composition import Composite, alone, beside, compose
from gradcompat.scanners.configs.nested import stated
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.scanners.registry import LIBRARIES
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.calls import Call, Unread, Value
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY

_MAX_DEPTH = 12
_MOST_VALUES = 5_000
_LONGEST = 200  # characters of a name in `defaults`
# Keys beside a `_target_` that are Hydra's own, and no arguments.
_OF_HYDRA = frozenset({"_target_", "_partial_", "_args_", "_recursive_", "_convert_"})
_MAKES_NO_ARGUMENT = frozenset({"_target_", "_recursive_", "_convert_"})
_OPTIMIZER = "optimizer"
_WORKERS = "training.dataloader_num_workers"
_GETS_PARAMETERS = _MAKES_NO_ARGUMENT | {"_partial_"}  # what calls such an optimizer gives it the parameters
_OPEN = "${}"  # a value that nobody knows

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


def _strategy(*names: str) -> Feeds:
    """Arguments of Lightning's strategies."""
    return {name: lightning_cli.TRAINER[f"strategy.init_args.{name}"] for name in names}


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
    "DeepSpeedStrategy": {
        "_target_": Feed("distributed.strategy", given="deepspeed"),
        **_strategy("stage", "offload_optimizer", "offload_optimizer_device"),
        **_strategy("overlap_comm", "contiguous_gradients", "reduce_scatter"),
    },
    "FSDPStrategy": {
        "_target_": Feed("distributed.strategy", given="fsdp"),
        **_strategy("sharding_strategy", "auto_wrap_policy", "use_orig_params", "state_dict_type"),
    },
    "DDPStrategy": {
        "_target_": Feed("distributed.strategy", given="ddp"),
        **_strategy("find_unused_parameters"),
    },
    "optimizer": {
        "_target_": OPTIMIZER,
        "weight_decay": Feed("optimizer.weight_decay"),
        "fused": Feed("optimizer.fused"),
    },
    # What a data module of Lightning hands to the loaders that it makes.
    "DataModule": {"num_workers": Feed(_WORKERS)},
    "DataLoader": {"num_workers": Feed(_WORKERS)},
}

FEEDS: Feeds = {
    **_ANYWHERE,
    **{f"{owner}.{name}": feed for owner, feeds in _CLASSES.items() for name, feed in feeds.items() if "." not in name},
}

_SWITCHES = {"TrainingArguments.bf16": "bf16", "TrainingArguments.fp16": "fp16"}
_OF_MODEL = "model."
_LIGHTNING = ("lightning.", "pytorch_lightning.")
# What derives from TrainingArguments.
_ARGUMENTS = frozenset(
    {"SFTConfig", "DPOConfig", "ORPOConfig", "KTOConfig", "GRPOConfig", "RewardConfig", "CPOConfig", "GKDConfig"}
)
_OPTIMIZERS = OPTIMIZER[0].values


def scan(document: Document, overrides: Sequence[Override] = ()) -> Context:
    """The run, or the part of one, that a config of Hydra's describes.

    Raises:
        Malformed: if it has nothing of Hydra's, says nothing of training, is no YAML, or is composed of itself.
    """
    top = yaml_text.parse_mapping(document.text, document.path)
    listed = top.entries.get("defaults")
    primary = isinstance(listed, yaml_nodes.Sequence) or isinstance(top.entries.get("hydra"), yaml_nodes.Mapping)
    package = any(line.startswith("# @package") for line in document.text[:1000].split("\n"))
    if not primary and not package and all("_target_" not in one.entries for _, one in _mappings(top)):
        raise Unrecognised("has neither `defaults` nor a `_target_`, as Hydra's configs do", path=document.path)
    files = tuple(_files(listed.items)) if isinstance(listed, yaml_nodes.Sequence) else ()
    # What changes the choices of another config is nothing by itself: an experiment.
    part = not primary or (
        package
        and isinstance(listed, yaml_nodes.Sequence)
        and (_changes_choices(listed) or _is_of_group(listed, document, top))
    )
    if isinstance(listed, yaml_nodes.Sequence) and document.file is not None and not part:
        composed = compose(PurePosixPath(document.path).stem, beside(document, top), overrides)
    else:
        composed = alone(top, document.path)
    composed.skipped += _duplicates(composed, top, document.path)
    config = Config(document, {}, tuple(_all_entries(composed)), tuple(composed.skipped))
    config = lightning_cli.literal(config, "Trainer.")
    settings, skipped = stated(config, FEEDS, _SWITCHES)
    made = _made(composed) if settings else []
    if not settings and not any("train" in file for file in files):
        raise Unrecognised("says nothing of a training run", path=document.path)
    settings = [*settings, *made]
    classes = (mapping.text("_target_") for _, mapping in _mappings(composed.merged.top))
    makes = tuple(dict.fromkeys(name for name in classes if name is not None))
    if part and primary:
        return replace(run_of(config, "hydra", settings, skipped, refers_to=files), run=False, makes=makes)
    if part and (package or "_target_" in top.entries):
        return Context(
            source=document.path,
            kind="hydra",
            settings=tuple(settings),
            run=False,
            skipped=tuple(skipped),
            makes=makes,
        )
    # A model or data that are loaded are no training, as in a config of what generates pictures.
    loads_alone = not primary and all(setting.key.startswith((_OF_MODEL, "code.", _WORKERS)) for setting in settings)
    if not composed.read:
        told = run_of(config, "hydra", settings, skipped, refers_to=files)
        return replace(told, run=not loads_alone, makes=makes)
    here = PurePosixPath(document.path).parent
    groups = tuple(sorted((here / group).as_posix() for group in composed.groups))
    told = run_of(config, "hydra", settings, skipped)
    return replace(
        told,
        run=not loads_alone,
        makes=makes,
        values=tuple(islice(_looked_up(composed), _MOST_VALUES)),
        composed=Composed(
            file=str(document.file),
            holds=tuple(reading.shown for reading in composed.read),
            groups=groups,
            root=document.root,
        ),
    )


def _changes_choices(listed: yaml_nodes.Sequence) -> bool:
    """Whether a defaults list overrides what another one has chosen."""
    return any(
        "override" in words[:-1] and not words[-1].lstrip("/").startswith("hydra/") for words in _choices(listed)
    )


def _is_of_group(listed: yaml_nodes.Sequence, document: Document, top: yaml_nodes.Mapping) -> bool:
    """Whether it is of a group itself: its list takes `/trainer` from a folder that is not beside it."""
    chosen = (words[-1] for words in _choices(listed) if words and words[-1].startswith("/"))
    named = {choice.partition("@")[0].removeprefix("/") for choice in chosen}
    groups = {group for group in named if group.partition("/")[0] != "hydra"}
    if not groups or document.file is None:
        return False
    folder = beside(document, top)
    return not any(folder.is_group(group) for group in groups)


def _choices(listed: yaml_nodes.Sequence) -> Iterator[list[str]]:
    """The words of each choice in a defaults list: ``override``, ``/trainer``."""
    return (key.split() for item in listed.items if isinstance(item, yaml_nodes.Mapping) for key in item.entries)


def _mappings(top: yaml_nodes.Mapping) -> Iterator[tuple[tuple[str, ...], yaml_nodes.Mapping]]:
    """Every mapping with the keys that lead to it, each once, however often an alias names it."""
    seen: set[int] = set()
    waiting: list[tuple[tuple[str, ...], yaml_nodes.Node, int]] = [((), top, 0)]
    while waiting:
        keys, node, depth = waiting.pop()
        if isinstance(node, yaml_nodes.Scalar) or id(node) in seen or depth > _MAX_DEPTH:
            continue
        seen.add(id(node))
        if isinstance(node, yaml_nodes.Sequence):
            waiting.extend((keys, item, depth + 1) for item in node.items)
        elif depth == 0 or keys[-1] not in ("defaults", "hydra"):
            yield keys, node
            waiting.extend(((*keys, name), one, depth + 1) for name, one in node.entries.items())


def _all_entries(composed: Composite) -> list[Entry]:
    """The values that a table has feeds for, in the order in which the files are merged."""
    found = [entry for keys, mapping in _mappings(composed.merged.top) for entry in _entries(composed, keys, mapping)]
    found.sort(key=lambda pair: (pair[0], pair[1].location.line or 0, pair[1].location.column or 0))
    return [entry for _, entry in found]


def _entries(composed: Composite, keys: tuple[str, ...], mapping: yaml_nodes.Mapping) -> Iterator[tuple[int, Entry]]:
    """The values of a mapping that a table has feeds for, named as the table of all of them names them."""
    key = keys[-1] if keys else ""
    owner = _class(key, mapping)
    for name, node in mapping.entries.items():
        if key == "gradient_checkpointing_kwargs":
            known = f"{key}.{name}"
        else:
            known = f"{owner}.{name}" if f"{owner}.{name}" in FEEDS else name
        if known in FEEDS and ("." not in name):
            here = (*keys, name)
            # `${steps}` stands where `steps` stands.
            spelled, shown = composed.merged.resolved(node, here) or (name, node)
            if shown is not node and isinstance(shown, yaml_nodes.Mapping) and _class(spelled, shown) is None:
                shown = node  # nothing is known of what it refers to, so the value is open
            path, part = composed.merged.origins[id(shown)]
            place = Location(path=path, line=shown.line, column=shown.column)
            value = _OPEN if composed.is_open(composed.merged.origins[id(node)][1], here) else _value(shown)
            yield part, Entry(known, value, place, composed.spellings.get(id(shown), f"{spelled}: {{}}"))


def _looked_up(composed: Composite) -> Iterator[ConfigValue]:
    """What a program may look up in the config: every scalar, and the words of every list."""
    for keys, mapping in _mappings(composed.merged.top):
        for name, node in mapping.entries.items():
            here = (*keys, name)
            spelled, shown = composed.merged.resolved(node, here) or (name, node)
            if isinstance(shown, yaml_nodes.Mapping):
                continue
            known = not composed.is_open(composed.merged.origins[id(node)][1], here)
            path, _ = composed.merged.origins[id(shown)]
            value: Any = _OPEN
            if known and isinstance(shown, yaml_nodes.Scalar):
                value = shown.value
            elif known and isinstance(shown, yaml_nodes.Sequence):
                value = tuple(item.text for item in shown.items if isinstance(item, yaml_nodes.Scalar))
            place = Location(path=path, line=shown.line, column=shown.column)
            yield ConfigValue(path=here, value=value, location=place, spelling=f"{spelled}: {{}}")


def _made(composed: Composite) -> list[Setting]:
    """What the config has made, as a program would call it: each ``_target_`` with the arguments beside it.

    It counts beside the program that composes the config (:mod:`gradcompat.scanners.run_assembly`).
    """
    calls: list[tuple[str, Call, Location]] = []
    for keys, mapping in _mappings(composed.merged.top):
        target = mapping.text("_target_")
        if target is None or not lightning_cli.CLASS.fullmatch(target):
            continue
        given = {
            name: _given(composed, (*keys, name), node)
            for name, node in mapping.entries.items()
            if name.isidentifier() and name not in _OF_HYDRA
        }
        whole = _OF_HYDRA.isdisjoint(mapping.entries.keys() - _MAKES_NO_ARGUMENT)
        if keys[-1:] == (_OPTIMIZER,) and _OF_HYDRA.isdisjoint(mapping.entries.keys() - _GETS_PARAMETERS):
            whole = True
            given.setdefault("params", Unread("_"))
        node = mapping.entries["_target_"]
        path, _ = composed.merged.origins[id(node)]
        calls.append((target, Call(target, (), given, whole), Location(path=path, line=node.line, column=node.column)))
    own = next((place for name, _, place in calls if name.partition(".")[0] not in LIBRARIES), None)
    # What a class of the project's own uses is used too, and nobody has looked.
    unread = [] if own is None else [Setting(key=SYMBOLS_KEY, value=None, location=own)]
    return [*lightning_cli.made(calls), *unread]


def _given(composed: Composite, keys: tuple[str, ...], node: yaml_nodes.Node) -> Value:
    """An argument; what is computed, looked up elsewhere or made itself cannot be read."""
    _, shown = composed.merged.resolved(node, keys) or (keys[-1], node)
    if not isinstance(shown, yaml_nodes.Scalar) or composed.is_open(composed.merged.origins[id(node)][1], keys):
        return Unread("_")
    value = shown.value
    if isinstance(value, str) and ("${" in value or SECRET.search(keys[-1]) or not is_word(value)):
        return Unread("_")
    return value if value is None or isinstance(value, (bool, int, float, str)) else Unread("_")


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
    if name.endswith("DataModule"):
        return "DataModule"
    return name if name in _CLASSES else None


def _value(node: yaml_nodes.Node) -> Any:
    if isinstance(node, yaml_nodes.Scalar):
        return node.value
    if isinstance(node, yaml_nodes.Sequence):
        return [item.text if isinstance(item, yaml_nodes.Scalar) else None for item in node.items]
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
            for scalar in node.items if isinstance(node, yaml_nodes.Sequence) else [node]:
                if not isinstance(scalar, yaml_nodes.Scalar) or not isinstance(scalar.value, str):
                    continue
                name = scalar.text.partition("@")[0].strip(" /")
                if name and name != "_self_" and "$" not in name and len(name) < _LONGEST:
                    name = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
                    yield f"{words}/{name}" if words else name


def _duplicates(composed: Composite, top: yaml_nodes.Mapping, path: str) -> Iterator[Skipped]:
    contents = [(reading.shown, reading.content) for reading in composed.read] or [(path, top)]
    for shown, content in contents:
        for _, mapping in _mappings(content):
            for key in mapping.duplicates:
                reason = "appears more than once: the last value counts"
                place = Location(path=shown, line=key.line, column=key.column)
                yield Skipped(what=quoted(key.text, "a key"), reason=reason, gap=False, location=place)
