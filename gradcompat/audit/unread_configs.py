"""Configs that a run names and that say nothing which any scanner knows: an empty file, a project's own keys.

Where a program looks keys up in its configs, such a file is read for these. Otherwise what it says is not known, and
the settings that it may hold stay open. That is told, so that nobody takes the file for one that was read; data that a
program loads are none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from gradcompat.errors import SourceError
from gradcompat.files.root import Root
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners.any_config import read_context
from gradcompat.scanners.configs.argument_blocks import of_own_keys
from gradcompat.scanners.named_files import is_meant
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.comparison import texts
from gradcompat.terms.symbol_patterns import CALLS_KEY, has_items

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
    silent = _by_name({*files} - {context.source for context in contexts} - {*told})
    found: list[Context] = []
    for context in contexts:
        notes = tuple(_notes(context, silent)) if silent and context.refers_to else ()
        found.append(replace(context, skipped=(*context.skipped, *notes)) if notes else context)
    return found


def configs_of_own_keys(
    contexts: Sequence[Context], files: Sequence[tuple[Path, str]], told: Collection[str], root: Root
) -> Iterator[Context]:
    """The configs that no scanner knows, where programs look keys up: each that something names.

    Args:
        contexts: what was scanned in a folder.
        files: every file of it that could have been, and as it is shown.
        told: those of which it is said already that they cannot be read.
        root: what may be read.
    """
    if not any(map(_looks_up, contexts)):
        return
    scanned = {context.source for context in contexts}
    silent = {label: file for file, label in files if label not in scanned and label not in told}
    by_name = _by_name(silent)
    named = (name for context in contexts for name in context.refers_to)
    defaults = (file.path for context in contexts for file in context.option_files)
    for meant in dict.fromkeys(one for name in (*named, *defaults) for one in _meant(name, by_name)):
        if root.leads_outside(silent[meant]):
            continue
        try:
            yield of_own_keys(read_context(silent[meant], meant))
        except SourceError:
            continue  # the note on it says that it was not looked at


def _looks_up(context: Context) -> bool:
    calls = (one.value for one in context.settings if one.key == CALLS_KEY)
    return bool(context.lookups) or any(has_items(call) for value in calls for call in texts(value))


def _by_name(files: Iterable[str]) -> dict[str, list[PurePosixPath]]:
    """Files by the last part of their paths: in a large project many names are asked for among many files."""
    found: dict[str, list[PurePosixPath]] = {}
    for file in files:
        path = PurePosixPath(file)
        found.setdefault(path.name, []).append(path)
    return found


def _meant(named: str, silent: Mapping[str, Sequence[PurePosixPath]]) -> list[str]:
    """The config that a name means, where it means one."""
    wanted = PurePosixPath(named)
    name = wanted.name.lower()
    of_model = name in _OF_MODELS and wanted.parent.name != ""  # in the folder of weights that a program loads
    if of_model or not (name.endswith(_YAML) or _CONFIG.fullmatch(name)):
        return []
    found = [file.as_posix() for file in silent.get(wanted.name, ()) if is_meant(wanted, file)]
    return found if len(found) == 1 else []


def _notes(context: Context, silent: Mapping[str, Sequence[PurePosixPath]]) -> Iterator[Skipped]:
    # What a config of Hydra's chooses has been read as such a config already, and says nothing of the training.
    if _OF_DATA in context.commands or context.kind == _OF_HYDRA:
        return
    reason = f"is named by {context.source}, and holds no setting that is known: what it says was not looked at"
    for named in dict.fromkeys(context.refers_to):
        for meant in _meant(named, silent):
            yield Skipped(what=meant, reason=reason, gap=False, location=Location(path=meant))
