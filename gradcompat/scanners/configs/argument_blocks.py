"""Configs of a project's own that hold arguments of transformers and PEFT in blocks: ``training_args:``, ``lora:``.

A block counts by itself if at least two of its keys are arguments that only these classes have. Whatever else such a
file holds counts where the program passes it on: ``TrainingArguments(**config["train"])``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from keyword import iskeyword
from typing import Any

from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats import json_text, yaml_nodes, yaml_text
from gradcompat.formats.document import Document
from gradcompat.model.context import ConfigLookup, ConfigValue, Context
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.code.call_lines import SECRET, is_word
from gradcompat.scanners.code.calls import known
from gradcompat.scanners.configs import adapter_config, training_arguments
from gradcompat.scanners.configs.deepspeed import left_to_engine
from gradcompat.scanners.configs.flat import Config, Entry, run_of, settings_of
from gradcompat.scanners.configs.lightning_cli import INTERVAL, when
from gradcompat.scanners.configs.model_names import model_settings
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.calls import ConfigItem, Unread, Value, read_call
from gradcompat.terms.symbol_patterns import CALLS_KEY, has_items, name_of

FEEDS: Feeds = {
    **training_arguments.FEEDS,
    **{name: adapter_config.FEEDS[name] for name in adapter_config.OPTIONS},
    "bnb_4bit_use_double_quant": Feed("quantization.double_quant"),
}

KIND = "hf-arguments"
# Fields that only TrainingArguments and what derives from it have, and those of LoraConfig.
_TRAINING = frozenset(
    {
        *("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps"),
        *("gradient_checkpointing_kwargs", "lr_scheduler_type", "save_total_limit", "save_strategy", "eval_strategy"),
        *("evaluation_strategy", "logging_strategy", "ddp_find_unused_parameters", "remove_unused_columns"),
        *("load_best_model_at_end", "metric_for_best_model", "group_by_length", "average_tokens_across_devices"),
        *("neftune_noise_alpha", "label_smoothing_factor", "use_liger_kernel", "torch_compile_backend", "ddp_timeout"),
        *("gradient_checkpointing", "num_train_epochs", "logging_steps", "warmup_ratio"),
        "activation_checkpointing_kwargs",
    }
)
_LORA = frozenset(
    {
        *("lora_alpha", "lora_dropout", "target_modules", "modules_to_save", "use_rslora", "use_dora"),
        *("init_lora_weights", "target_parameters", "layers_to_transform"),
    }
)
_WORD = lazy_pattern(r"[^\W\d]")
_LEAST = 2
_DEEPEST = 6
_MOST_VALUES = 5_000
_ADAPTERS = "peft."
_MERGED = "omegaconf.OmegaConf.merge"

Path = tuple[str, ...]


def scan(document: Document) -> Context:
    """The arguments that a config keeps in blocks; it is part of the runs that name it.

    Raises:
        Malformed: if it has no such block, or is no YAML or JSON.
    """
    values = tuple(_values(document))
    blocks = _blocks(values)
    lone = {value.path[-1] for value in values} & _TRAINING
    if not blocks and not lone:
        raise Unrecognised("holds no block of arguments of transformers or PEFT", path=document.path)
    entries = [entry for block in blocks for entry in _entries(values, block)]
    config = Config(document, {}, tuple(entries))
    settings, skipped = settings_of(config, FEEDS)
    return replace(run_of(config, KIND, settings, skipped), run=False, values=values)


def of_own_keys(document: Document) -> Context:
    """A config whose keys are the project's own: it says nothing by itself, but where a program looks something up.

    Raises:
        Malformed: if it is no YAML or JSON.
    """
    return Context(source=document.path, kind=KIND, settings=(), run=False, values=tuple(_values(document)))


def settings_of_lookup(context: Context, lookup: ConfigLookup) -> list[Setting] | None:
    """What a config says at the place that a program looks up; None if nothing is there."""
    entries = _entries(context.values, lookup.path, lookup.argument)
    if lookup.loads:
        names = [entry for entry in entries if isinstance(entry.value, str)]
        return [
            told for entry in names for told in model_settings(entry.value, entry.location, task=lookup.task)
        ] or None
    tool = known(lookup.tool)
    if not entries or tool is None:
        return None
    entries = [replace(one, value=when(one.value)) if one.name == INTERVAL else one for one in entries]
    settings = settings_of(Config(Document(context.source, ""), {}, tuple(entries)), tool.feeds)[0]
    if lookup.tool == "deepspeed.initialize":
        left = left_to_engine({entry.name: entry.value for entry in entries})
        settings += [Setting(key=key, value=value, location=entries[0].location) for key, value in left]
    return settings


def with_blocks(calls: Setting, lookups: Sequence[ConfigLookup], contexts: Sequence[Context]) -> Setting:
    """The calls of a program with the blocks that they unpack, ``TrainingArguments(**config["train"])``.

    A tool counts that is called once with a block, which one config has; a block that is merged may be changed.
    """
    if calls.key != CALLS_KEY or not isinstance(calls.value, tuple) or _MERGED in map(name_of, map(str, calls.value)):
        return calls
    blocks = [one for one in dict.fromkeys(lookups) if not one.argument and not one.loads]
    lines = list(map(str, calls.value))
    for lookup in blocks:
        mine = [index for index, line in enumerate(lines) if name_of(line) == lookup.tool and line.endswith("**_)")]
        given = [entries for context in contexts if (entries := _entries(context.values, lookup.path))]
        if len(mine) == 1 and len(given) == 1 and sum(one.tool == lookup.tool for one in blocks) == 1:
            call = read_call(lines[mine[0]])
            lines[mine[0]] = str(replace(call, named={**_named(given[0]), **call.named}, whole=True))
    return replace(calls, value=tuple(lines))


def with_items(calls: Setting, program: Context, contexts: Sequence[Context]) -> Setting:
    """The calls of a program with what they look up in the configs of its run, ``AdamW(lr=config["lr"])``.

    A value counts that all configs agree on which have one there, unless the program may set it; of a config that is
    merged another one may count.
    """
    if calls.key != CALLS_KEY or not isinstance(calls.value, tuple) or not any(one.values for one in contexts):
        return calls
    lines = tuple(map(str, calls.value))
    if not any(map(has_items, lines)) or _MERGED in map(name_of, lines):
        return calls

    set_by_program = program.keys_set

    def value_of(item: ConfigItem) -> Value:
        if set_by_program is None or not set_by_program.isdisjoint(item.path):
            return item
        found = [one.value for context in contexts for one in context.values if one.path == item.path]
        return _item(found[0], item) if len(set(map(repr, found))) == 1 else item

    told = (str(read_call(line).with_items(value_of)) if has_items(line) else line for line in lines)
    return replace(calls, value=tuple(told))


def _item(value: Any, item: ConfigItem) -> Value:
    """A value of a config; of a list that is not all words it is not known which numbers are in it."""
    words = list(value) if isinstance(value, tuple) else None
    if words is not None and not (words and all(map(_WORD.match, words))):
        return item
    read = _read(value if words is None else words, ".".join(item.path))
    return item if isinstance(read, Unread) else read


def _named(entries: Sequence[Entry]) -> dict[str, Value]:
    """The arguments of a block; of a mapping in it, what it holds."""
    named: dict[str, Value] = {}
    for entry in entries:
        first, *inner = entry.name.split(".")
        value = _read(entry.value, entry.name)
        if not inner:
            named[first] = value
        elif len(inner) == 1 and isinstance(inside := named.setdefault(first, {}), dict):
            inside[inner[0]] = value
        else:
            named[first] = Unread("_inner")
    return {name: value for name, value in named.items() if name.isidentifier() and not iskeyword(name)}


def _read(value: Any, name: str) -> Value:
    """A value as it chooses something; no text, no secret, and nothing that is looked up elsewhere."""
    if isinstance(value, list):
        return [_read(one, name) for one in value]
    if isinstance(value, str) and ("${" in value or SECRET.search(name) or not is_word(value)):
        return Unread("_text")
    return value if value is None or isinstance(value, (bool, int, float, str)) else Unread("_other")


def with_passed_blocks(context: Context, lookups: Sequence[ConfigLookup]) -> Context:
    """A config of which a program passes some blocks on: another block of the same kind is for somebody else."""
    passed = [(lookup, settings) for lookup in lookups if (settings := settings_of_lookup(context, lookup)) is not None]
    if not passed:
        return context
    if context.kind != KIND:  # it says by itself what its other parts mean
        told = (setting for _, found in passed for setting in found)
        return replace(context, settings=tuple(dict.fromkeys((*context.settings, *told))))
    adapters = {one.tool.startswith(_ADAPTERS) for one, _ in passed}
    rest = [block for block in _blocks(context.values) if _is_adapter(context.values, block) not in adapters]
    entries = [entry for block in rest for entry in _entries(context.values, block)]
    settings = [setting for _, found in passed for setting in found]
    settings += settings_of(Config(Document(context.source, ""), {}, tuple(entries)), FEEDS)[0]
    settings.sort(key=lambda one: (one.location.line or 0, one.location.column or 0))
    return replace(context, settings=tuple(dict.fromkeys(settings)))


def _blocks(values: Sequence[ConfigValue]) -> list[Path]:
    """The mappings that have enough of the arguments, in the order of the file."""
    names: dict[Path, set[str]] = {}
    for value in values:
        for end in range(len(value.path)):
            names.setdefault(value.path[:end], set()).add(value.path[end])
    return [block for block, keys in names.items() if max(len(keys & _TRAINING), len(keys & _LORA)) >= _LEAST]


def _is_adapter(values: Sequence[ConfigValue], block: Path) -> bool:
    keys = {value.path[len(block)] for value in values if value.path[: len(block)] == block}
    return len(keys & _LORA) > len(keys & _TRAINING)


def _entries(values: Sequence[ConfigValue], block: Path, argument: str = "") -> list[Entry]:
    """The values of a block, named as the class names them; of one value, as the argument that it is given to."""
    found: list[Entry] = []
    for value in values:
        if value.path[: len(block)] != block or (not argument and len(value.path) == len(block)):
            continue
        inner = value.path[len(block) :]
        name = ".".join((argument, *inner) if argument else inner)
        found.append(
            Entry(
                name,
                list(value.value) if isinstance(value.value, tuple) else value.value,
                value.location,
                value.spelling,
            )
        )
    return found


def _values(document: Document) -> Iterator[ConfigValue]:
    """Every scalar and list of a config, by the keys that lead to it; a key with dots is several."""
    if document.text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            yield from _of_json(document)
            return
        except Malformed:
            if document.path.lower().endswith(".json"):
                raise
    yield from _of_yaml(document)


def _of_yaml(document: Document) -> Iterator[ConfigValue]:
    waiting: list[tuple[Path, yaml_nodes.Mapping]] = [((), yaml_text.parse_mapping(document.text, document.path))]
    left = _MOST_VALUES
    while waiting and left:
        path, mapping = waiting.pop(0)
        for key, node in mapping.entries.items():
            here = (*path, *key.split("."))
            left -= 1
            if not left:
                break
            if len(here) > _DEEPEST:
                continue
            if isinstance(node, yaml_nodes.Mapping):
                waiting.append((here, node))
                continue
            shown = node if isinstance(node, yaml_nodes.Scalar) else mapping.keys[key]
            value: Any = node.value if isinstance(node, yaml_nodes.Scalar) else tuple(_texts(node))
            place = Location(path=document.path, line=shown.line, column=shown.column)
            yield ConfigValue(path=here, value=value, location=place, spelling=f"{key}: {{}}")


def _texts(node: yaml_nodes.Sequence) -> Iterator[str]:
    return (item.text for item in node.items[:_MOST_VALUES] if isinstance(item, yaml_nodes.Scalar))


def _of_json(document: Document) -> Iterator[ConfigValue]:
    top = json_text.parse(document.text, document.path)
    if not isinstance(top, dict):
        raise Unrecognised("is not a JSON object", path=document.path, line=1)
    places = json_text.Places(document.text, document.path)
    waiting: list[tuple[Path, Path, dict[str, Any]]] = [((), (), top)]
    left = _MOST_VALUES
    while waiting and left:
        path, keys, mapping = waiting.pop(0)
        for key, value in mapping.items():
            here = (*path, *key.split("."))
            left -= 1
            if not left:
                break
            if len(here) > _DEEPEST:
                continue
            if isinstance(value, dict):
                waiting.append((here, (*keys, key), value))
                continue
            words = isinstance(value, list) and [str(one) for one in value[:_MOST_VALUES] if isinstance(one, str)]
            plain = value if words is False else tuple(words)
            yield ConfigValue(path=here, value=plain, location=places.of(*keys, key), spelling=f'"{key}": {{}}')
