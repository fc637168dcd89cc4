"""Configs that are one mapping, in YAML or JSON: the values that a scanner's table asks for, with their places.

Only what the table names is looked up. So the cost is that of the table, whatever aliases make of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats import json_text, yaml_nodes, yaml_text
from gradcompat.formats.document import Document
from gradcompat.model.context import Context, LaunchOption
from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.quotation import quoted
from gradcompat.scanners.configs.model_names import architecture_setting
from gradcompat.scanners.configs.training_arguments import expanded, settled
from gradcompat.scanners.key_mapping import Feeds, fed
from gradcompat.startup.lazy_dataclasses import dataclass, replace

MOST_DUPLICATES = 20  # keys that stand twice and are named, of one config
_LONGEST = 1000  # characters of a value that somebody typed


@dataclass(frozen=True, slots=True)
class Entry:
    """A value of a config; ``name`` has dots between the levels, ``spelling`` is its line with ``{}`` for the value.

    There is no spelling where the value is put together from several places.
    """

    name: str
    value: Any
    location: Location
    spelling: str | None


@dataclass(frozen=True, slots=True)
class Config:
    """What a config says of the keys that were asked for.

    Attributes:
        document: the file.
        top: every key at the top with its scalar; an empty tuple where it has a list or a mapping.
        entries: the values that were asked for, in the order of the file.
        skipped: keys that stand twice.
    """

    document: Document
    top: Mapping[str, Any]
    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...] = ()

    def value(self, name: str) -> Any:
        """The value at a key, with dots between the levels, if it was asked for; None if it is not there."""
        return next((entry.value for entry in self.entries if entry.name == name), None)


def read_config(document: Document, feeds: Feeds) -> Config:
    """The values of a YAML or JSON text that a table has feeds for.

    Raises:
        Malformed: if the text is neither, or holds no mapping at its top.
    """
    wanted: dict[str, list[list[str]]] = {}
    for name in feeds:
        root, *rest = name.split(".")
        wanted.setdefault(root, [[]])
        if rest:
            wanted[root].append(rest)
    if document.text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            return _of_json(document, wanted)
        except Malformed:  # YAML has braces, too, and is content with a comma too many
            if document.path.lower().endswith(".json"):
                raise
    return _of_yaml(document, wanted)


def key_places(config: Config) -> dict[str, Location]:
    """Where each key at the top stands."""
    document = config.document
    try:
        keys = _mapping(document.text, document.path).keys
    except Malformed:  # JSON with what YAML does not take
        places = json_text.Places(document.text, document.path)
        return {key: places.of(key) for key in config.top}
    return {key: Location(path=document.path, line=at.line, column=at.column) for key, at in keys.items()}


def keys_of(config: Config) -> tuple[LaunchOption, ...]:
    """The keys at the top, as options of whatever parses them, with the scalars in them as a command has them."""
    return tuple(
        LaunchOption(name=key, value=_text(config.top.get(key)), location=place)
        for key, place in key_places(config).items()
    )


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, (bool, int, float, str)) else None


def values_of(config: Config, key: str) -> list[Any] | None:
    """The values of a list at a key; those of a scalar or of no key are none, and None is what is not known."""
    if config.top.get(key) is None:
        return []
    try:
        node = _mapping(config.document.text, config.document.path).entries.get(key)
    except Malformed:  # JSON with what YAML does not take
        return None
    found = None if node is None else _of_node(node)
    return found if isinstance(found, list) else None


def rows_of(config: Config, key: str) -> list[Mapping[str, Any]]:
    """The mappings of a list at a key, with their scalars and lists of these."""
    try:
        node = _mapping(config.document.text, config.document.path).entries.get(key)
    except Malformed:  # JSON with what YAML does not take
        return []
    items = node.items if isinstance(node, yaml_nodes.Sequence) else ()
    rows = [item for item in items if isinstance(item, yaml_nodes.Mapping)]
    return [_of_node(row) | _lists_of(row) for row in rows]


def _lists_of(row: yaml_nodes.Mapping) -> dict[str, Any]:
    return {key: _of_node(one) for key, one in row.entries.items() if isinstance(one, yaml_nodes.Sequence)}


def classes_of(config: Config) -> list[tuple[str, dict[str, Any], Location]]:
    """Each ``class_path`` of a YAML, wherever it stands, with its ``init_args``: () is a list or a mapping."""
    try:
        waiting: list[yaml_nodes.Node] = [_mapping(config.document.text, config.document.path)]
    except Malformed:  # JSON with what YAML does not take
        return []
    found: list[tuple[str, dict[str, Any], Location]] = []
    for node in waiting:
        if isinstance(node, yaml_nodes.Sequence):
            waiting += node.items
        elif isinstance(node, yaml_nodes.Mapping):
            waiting += node.entries.values()
            path, given = node.entries.get("class_path"), node.entries.get("init_args")
            if isinstance(path, yaml_nodes.Scalar) and isinstance(path.value, str):
                entries = given.entries.items() if isinstance(given, yaml_nodes.Mapping) else ()
                arguments = {
                    key: _scalar(one.value) if isinstance(one, yaml_nodes.Scalar) else () for key, one in entries
                }
                location = Location(path=config.document.path, line=path.line, column=path.column)
                found.append((path.value, arguments, location))
    return found


def settings_of(config: Config, feeds: Feeds) -> tuple[list[Setting], list[Skipped]]:
    """The settings that a table makes of a config, and what is not understood."""
    named: list[tuple[str, Setting]] = []
    skipped = list(config.skipped)
    for entry in config.entries:
        if isinstance(entry.value, str) and len(entry.value) > _LONGEST:
            reason = f"has {len(entry.value)} characters"
            skipped.append(Skipped(what=entry.name, reason=reason, location=entry.location))
            continue
        # What is inside a mapping has entries of its own, with their own lines.
        inside = isinstance(entry.value, dict)
        for name, value in [(entry.name, entry.value)] if inside else expanded(entry.name, entry.value):
            # A value inside a value has no line of its own to show a change on.
            spelling = entry.spelling if name == entry.name else None
            settings, unread = fed(feeds, name, value, entry.location, spelling)
            named += [(name, setting) for setting in settings]
            skipped += unread
    return settled(named), skipped


def run_of(
    config: Config, kind: str, settings: list[Setting], skipped: list[Skipped], *, refers_to: tuple[str, ...] = ()
) -> Context:
    """The run that a trainer's config describes: its settings, what the model's name says, the files that it names.

    Args:
        config: the config.
        kind: the tool whose config it is.
        settings: what the tool's table makes of it.
        skipped: what could not be read.
        refers_to: files that it names, beside those that are found at ``deepspeed`` and in the model's folder.
    """
    names = list(refers_to)
    deepspeed = config.value("deepspeed")
    if isinstance(deepspeed, str) and deepspeed.lower().endswith((".json", ".yaml", ".yml")):
        names.append(deepspeed)
    told = list(settings)
    for index, setting in enumerate(settings):
        if setting.key == "model.name" and isinstance(setting.value, str):
            names.append(f"{setting.value.rstrip('/')}/config.json")
            architecture = architecture_setting(setting.value, setting.location)
            if architecture is not None and all(finding.key != architecture.key for finding in told):
                told.insert(index + 1, architecture)
    return Context(
        source=config.document.path,
        kind=kind,
        settings=tuple(told),
        run=True,
        refers_to=tuple(dict.fromkeys(names)),
        skipped=tuple(skipped),
    )


@lru_cache(maxsize=1)
def _mapping(text: str, path: str) -> yaml_nodes.Mapping:
    """The file as YAML has it; every scanner asks for the same one."""
    return yaml_text.parse_mapping(text, path)


def _of_yaml(document: Document, wanted: Mapping[str, list[list[str]]]) -> Config:
    mapping = _mapping(document.text, document.path)
    entries: list[Entry] = []
    seen: list[yaml_nodes.Mapping] = [mapping]
    for root in wanted.keys() & mapping.entries.keys():
        for path in wanted[root]:
            node: yaml_nodes.Node | None = mapping.entries[root]
            holder = mapping
            for key in path:
                if not isinstance(node, yaml_nodes.Mapping):
                    node = None
                    break
                if all(one is not node for one in seen):
                    seen.append(node)
                holder, node = node, node.entries.get(key)
            if node is not None:
                keys = [root, *path]
                # A list or a mapping is shown where its key stands, not at the first thing in it.
                shown = node if isinstance(node, yaml_nodes.Scalar) else holder.keys[keys[-1]]
                place = Location(path=document.path, line=shown.line, column=shown.column)
                entries.append(Entry(".".join(keys), _of_node(node), place, f"{keys[-1]}: {{}}"))
    keys_again = [key for one in seen for key in one.duplicates]
    duplicates = [
        Skipped(
            what=quoted(key.text, "a key"),
            reason="appears more than once: the last value counts",
            gap=False,
            location=Location(path=document.path, line=key.line, column=key.column),
        )
        for key in keys_again[:MOST_DUPLICATES]
    ]
    if len(keys_again) > MOST_DUPLICATES:
        duplicates[-1] = replace(duplicates[-1], what=f"{len(keys_again) - MOST_DUPLICATES + 1:,} more keys")
    top = {key: node.value if isinstance(node, yaml_nodes.Scalar) else () for key, node in mapping.entries.items()}
    return Config(document, top, _in_order(entries), tuple(duplicates))


def _of_node(node: yaml_nodes.Node) -> Any:
    if isinstance(node, yaml_nodes.Scalar):
        return node.value
    if isinstance(node, yaml_nodes.Sequence):
        return [_scalar(item.value) if isinstance(item, yaml_nodes.Scalar) else None for item in node.items]
    return {
        key: _scalar(one.value) if isinstance(one, yaml_nodes.Scalar) else None for key, one in node.entries.items()
    }


def _of_json(document: Document, wanted: Mapping[str, list[list[str]]]) -> Config:
    values = json_text.parse(document.text, document.path)
    if not isinstance(values, dict):
        raise Unrecognised("is not a JSON object", path=document.path, line=1)
    places = json_text.Places(document.text, document.path)
    entries: list[Entry] = []
    for root in wanted.keys() & values.keys():
        for path in wanted[root]:
            value: Any = values[root]
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                keys = [root, *path]
                entries.append(Entry(".".join(keys), _of_value(value), places.of(*keys), f'"{keys[-1]}": {{}}'))
    top = {key: () if isinstance(value, (list, dict)) else value for key, value in values.items()}
    return Config(document, top, _in_order(entries))


def _of_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_scalar(one) for one in value]
    if isinstance(value, dict):
        return {key: _scalar(one) for key, one in value.items()}
    return value


def _scalar(value: Any) -> Any:
    """A value inside a list or a mapping, where nothing deeper counts and nothing is that long."""
    return None if isinstance(value, (list, dict)) or (isinstance(value, str) and len(value) > _LONGEST) else value


def _in_order(entries: list[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda one: (one.location.line or 0, one.location.column or 0, one.name)))
