"""Configs that a run names and that say nothing which any scanner knows: an empty file, a project's own keys.

What such a file says is not known, and the settings that it may hold stay open. That is told, so that nobody takes the
file for one that was read; data that a program loads are none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath

from gradcompat.lazy_dataclasses import replace
from gradcompat.lazy_patterns import lazy_pattern
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners.named_files import is_meant

_YAML = (".yaml", ".yml")
# A JSON of another name may well hold data.
_CONFIG = lazy_pattern(r".*(?:config|cfg|deepspeed|(?:\b|_)ds(?:\b|_)|zero|fsdp|accelerate).*\.json")
# What is looked for beside models and data, whether it is there or not, and whose files describe a data set.
_OF_MODELS = ("config.json", "tokenizer_config.json", "dataset_info.json")
_OF_DATA = "ultralytics"
_OF_HYDRA = "hydra"


def with_unread_configs(contexts: Iterable[Context], files: Collection[str], told: Collection[str]) -> list[Context]:
    """The contexts, each with a note of the configs that it names and that no scanner knows.

    Args:
        contexts: what was scanned in a folder.
        files: every file of it that could have been, as it is shown.
        told: those of which it is said already that they cannot be read.
    """
    contexts = list(contexts)
    silent = {*files} - {context.source for context in contexts} - {*told}
    found: list[Context] = []
    for context in contexts:
        notes = tuple(_notes(context, silent)) if silent and context.refers_to else ()
        found.append(replace(context, skipped=(*context.skipped, *notes)) if notes else context)
    return found


def _notes(context: Context, silent: Collection[str]) -> Iterator[Skipped]:
    # What a config of Hydra's chooses has been read as such a config already, and says nothing of the training.
    if _OF_DATA in context.commands or context.kind == _OF_HYDRA:
        return
    reason = f"is named by {context.source}, and holds no setting that is known: what it says was not looked at"
    for named in dict.fromkeys(context.refers_to):
        wanted = PurePosixPath(named)
        name = wanted.name.lower()
        if name in _OF_MODELS or not (name.endswith(_YAML) or _CONFIG.fullmatch(name)):
            continue
        meant = [file for file in silent if is_meant(wanted, PurePosixPath(file))]
        if len(meant) == 1:
            yield Skipped(what=meant[0], reason=reason, gap=False, location=Location(path=meant[0]))
