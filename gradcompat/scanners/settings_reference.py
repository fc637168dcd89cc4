"""The vocabulary with the keys of the tools that feed it, gathered from the scanners' tables.

``python -m gradcompat.scanners.settings_reference > docs/settings.md`` writes the page, and a test keeps it current.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import groupby

from gradcompat.model.environment import SettingValue
from gradcompat.scanners.key_mapping import Feed
from gradcompat.scanners.registry import SCANNERS
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES

COMMAND = "python -m gradcompat.scanners.settings_reference > docs/settings.md"

_MEANINGS = 4  # of values, listed beside a key; a longer list is a table of names

# What the tables do not say, or not all of it.
_NOTES = {
    "training.framework": "Also set by the kind of file (axolotl, hf-training-args, trl) and by commands: `trl sft`.",
    "training.method": "Also set by commands: `trl dpo`, `swift pt`.",
    "training.dynamic_critic": "Set by `critic.use_dynamic_bsz`, or the actor's, of verl with GAE, without Megatron.",
    "model.architecture": "Also set by the name of a common model family, wherever `model.name` is read.",
    "distributed.strategy": "Also set by the command `deepspeed`.",
    **dict.fromkeys(VIRTUAL_PACKAGES, "Read from the packages and, for an installed environment, from the machine."),
    "host.device": "For an installed environment, also read from the machine and from the build of torch.",
    "host.python": "Read from the environment.",
    "host.platform": "Read from the environment.",
}


@cache
def fed_by() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """For each key of the vocabulary the tools that feed it, and by which of their own keys, as text."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for scanner in SCANNERS:
        module = import_module(f"gradcompat.scanners.{scanner.module}")
        for name, feeds in getattr(module, "FEEDS", {}).items():
            for feed in feeds if isinstance(feeds, tuple) else (feeds,):
                found[feed.key][scanner.kind].add(_named(name, feed))
    return {key: {kind: tuple(sorted(names)) for kind, names in kinds.items()} for key, kinds in found.items()}


def _named(name: str, feed: Feed) -> str:
    """The tool's key, with what its values mean where they are not taken as they are."""
    pairs = [(value, _said(meaning)) for value, meaning in feed.values.items()]
    meanings = [f"only {value}" if feed.only and value == said else f"{value} → {said}" for value, said in pairs]
    if feed.given is not None:
        meanings.append(f"set → {_said(feed.given)}")
    return f"`{name}`" if not meanings or len(meanings) > _MEANINGS else f"`{name}` ({', '.join(meanings)})"


def _said(value: SettingValue | None) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return str(value).lower()
        case tuple():
            return " and ".join(value)
    return str(value)


def origins(key: str) -> list[str]:
    """One line for each group of keys that the same tools have: ```a`, `b`: axolotl, trl``."""
    tools: dict[str, list[str]] = defaultdict(list)
    for kind, names in sorted(fed_by().get(key, {}).items()):
        for name in names:
            tools[name].append(kind)
    ordered = sorted(tools.items(), key=lambda one: (-len(one[1]), one[1], one[0]))
    return [
        f"{', '.join(name for name, _ in names)}: {', '.join(kinds)}"
        for kinds, names in groupby(ordered, key=lambda one: one[1])
    ]


def note(key: str) -> str | None:
    """What there is to say beside the tools' keys, or in their place."""
    if key in _NOTES or key in fed_by():
        return _NOTES.get(key)
    return "No file states it: use `--set`."


def page() -> str:
    """The page as Markdown."""
    lines = [
        "# Settings",
        "",
        "This page lists the settings that records may depend on and that `--set KEY=VALUE` accepts. Below each key",
        "are the keys of the tools that set it, as their files spell them (`a.b` is `b` below `a`), and file kinds.",
        "Brackets say what a value means if it is not used unchanged.",
        "",
        f"<!-- Generated: `{COMMAND}` -->",
    ]
    for subject, keys in groupby(KEYS, key=lambda key: key.partition(".")[0]):
        lines += ["", f"## {subject}"]
        for key in keys:
            lines += ["", f"### {key}", "", f"`{KEYS[key].type}`: {KEYS[key].meaning}"]
            listed = origins(key)
            lines += ["", *(f"* {line}" for line in listed)] if listed else []
            said = note(key)
            lines += [] if said is None else ["", said]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode("utf-8"))
