"""What the texts inside a log say of the run: command lines, printed arguments and configs, read by the scanners."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.diagnosis.excerpts import Excerpt
from gradcompat.diagnosis.printed_arguments import arguments
from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.configs import (
    adapter_config,
    axolotl,
    deepspeed,
    llamafactory,
    model_config,
    ms_swift,
    torchtune,
)
from gradcompat.scanners.configs.model_names import architecture_setting
from gradcompat.scanners.configs.training_arguments import FEEDS, TRL_OWN, expanded, settled
from gradcompat.scanners.key_mapping import Feed, Feeds, fed
from gradcompat.scanners.launches import launch_script
from gradcompat.scanners.launches.command_line import SCRIPTS
from gradcompat.startup.lazy_dataclasses import replace

_SCAN = {
    "command": launch_script.scan,
    "deepspeed": deepspeed.scan,
    "axolotl": axolotl.scan,
    "torchtune": torchtune.scan,
    "model": model_config.scan,
}
_TRAINER = frozenset({"TrainingArguments", "Seq2SeqTrainingArguments"})
_TRL = frozenset(f"{name}Config" for name in ("SFT", "DPO", "GRPO", "KTO", "ORPO", "CPO", "Reward", "RLOO", "PPO"))
_OF_SWIFT = frozenset({"train_type", "tuner_type", "sft_type", "rlhf_type"})
# A model's config says in what it was saved; what it is loaded in, a run decides.
_LOADED = frozenset({"model.torch_dtype"})


def settings_of(excerpts: Sequence[Excerpt], path: str) -> list[Setting]:
    """The settings that the excerpts of one log state, at their lines in the log.

    What no scanner takes says nothing; a log is mostly other things, so that is no gap.
    """
    return [setting for excerpt in excerpts for setting in _of_excerpt(excerpt, path)]


def _of_excerpt(excerpt: Excerpt, path: str) -> list[Setting]:
    if excerpt.kind == "arguments":
        return _of_arguments(excerpt, path)
    try:
        context: Context = _SCAN[excerpt.kind](Document(path, excerpt.text))
    except SourceError:
        return []
    return [
        # There is nothing to change in a log: no setting of one has a spelling.
        replace(setting, location=_place(setting.location, excerpt, path), spelling=None)
        for setting in context.settings
        if excerpt.kind != "model" or setting.key not in _LOADED
    ]


def _place(location: Location, excerpt: Excerpt, path: str) -> Location:
    index = min(location.line or 1, len(excerpt.lines)) - 1
    return Location(path=path, line=excerpt.lines[index][0])


def _of_arguments(excerpt: Excerpt, path: str) -> list[Setting]:
    listed = arguments(excerpt)
    names = frozenset(name for name, _, _ in listed)
    feeds = _feeds(excerpt.name, names)
    named: list[tuple[str, Setting]] = []
    for name, value, line in listed:
        where = Location(path=path, line=line)
        if excerpt.name == "LoraConfig" and name in adapter_config.OPTIONS and value is None:
            # Everything is listed: what is None there is surely not used.
            named += [(name, Setting(key=feed.key, value=False, location=where)) for feed in _each(feeds[name])]
        for inner, one in expanded(name, value):
            settings, _ = fed(feeds, inner, one, where)
            named += [(inner, setting) for setting in settings]
    framework = _framework(excerpt.name, names)
    if listed and framework is not None:
        where = Location(path=path, line=excerpt.lines[0][0])
        named.append(("", Setting(key="training.framework", value=framework, location=where)))
    return _with_architecture(settled(named))


def _feeds(kind: str, names: frozenset[str]) -> Feeds:
    """Whose arguments they are: the class says it, or an argument that only one tool has."""
    if kind == "LoraConfig":
        return adapter_config.FEEDS
    if "finetuning_type" in names:
        return llamafactory.FEEDS
    if not names.isdisjoint(_OF_SWIFT):
        return ms_swift.FEEDS
    return SCRIPTS if kind == "Namespace" else FEEDS


def _each(feed: Feed | tuple[Feed, ...]) -> tuple[Feed, ...]:
    return feed if isinstance(feed, tuple) else (feed,)


def _framework(kind: str, names: frozenset[str]) -> str | None:
    if kind in _TRL or (kind in _TRAINER and not names.isdisjoint(TRL_OWN)):
        return "trl"
    return "transformers.Trainer" if kind in _TRAINER else None


def _with_architecture(settings: list[Setting]) -> list[Setting]:
    found = list(settings)
    for setting in settings:
        if setting.key == "model.name" and isinstance(setting.value, str):
            architecture = architecture_setting(setting.value, setting.location)
            if architecture is not None:
                found.append(architecture)
    return found
