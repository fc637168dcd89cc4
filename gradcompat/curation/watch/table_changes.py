"""Changes between the tables of two releases: defaults, parameters, and what model classes do with a loss."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from gradcompat.curation.watch.candidate import RULES, Candidate
from gradcompat.releases.runs import Value
from gradcompat.releases.table import INNER, ReleaseTable

# Classes and functions that a training run is configured by.
_CONFIGURES = re.compile(
    r"(?:Arguments|Args|Config|Trainer|Collator\w*|Loss|Optimizer|Scheduler|Accelerator|Plugin|Kwargs|Adam\w*|Lion\w*)$"
    r"|^(?:get_\w*schedule\w*|create_optimizer\w*|\w*_loss)$"
)
_PRIVATE = re.compile(r"(?:^|\.)_")
# Parameters that decide about training, by a part of the name.
_TRAINING = re.compile(
    r"loss|grad|accum|clip|norm|seed|resume|mask|label|learning|(?:^|_)lr(?:_|$)|warmup|decay|beta|(?:^|_)eps|dropout|bf16|fp16"
    r"|fp8|dtype|precision|optim|schedul|shuffle|pack(?:ing|ed)|padding|trunc|max_length|drop_last|reduction|temperature|average"
    r"|scale|aux|router|(?<!a)sync|checkpointing"
)
_MODULES_OF_MODELS = re.compile(r"\.models\.|configuration_")
_CONSTRUCTORS = frozenset({"__init__", "__call__", "__new__"})


def table_changes(table: ReleaseTable, before: Version, after: Version) -> Iterator[Candidate]:
    """The candidates of two releases, as their table says it."""
    yield from _model_changes(table, before, after)
    for section in ("classes", "signatures"):
        for module, key, old, new in table.changes(section, before, after):
            owner, _, method = key.partition(".")
            if _PRIVATE.search(module) or owner.startswith("_") or not _CONFIGURES.search(owner):
                continue
            if method and method not in _CONSTRUCTORS:
                continue
            place = f"{module}: {owner}"
            yield from _parameter_changes(
                table.package,
                place,
                _parameters(section, old),
                _parameters(section, new),
                (
                    str(before),
                    str(after),
                ),
            )


def _model_changes(table: ReleaseTable, before: Version, after: Version) -> Iterator[Candidate]:
    for _, name, old, new in table.changes("models", before, after):
        was, now = set(_loss_facts(old)), set(_loss_facts(new))
        if was == now:
            continue
        yield Candidate(
            rule="loss-facts",
            package=table.package,
            before=str(before),
            after=str(after),
            place=name,
            removed=tuple(sorted(was - now)),
            added=tuple(sorted(now - was)),
            weight=RULES["loss-facts"].weight + (10 if {"counts", "ignores", "shifts"} & (was ^ now) else 0),
        )


def _loss_facts(text: Value) -> list[str]:
    return [word for word in str(text).split() if not word.startswith(("supports=", "tied="))]


def _parameters(section: str, text: Value) -> dict[str, str | None]:
    """The parameters of a stored signature, or the fields of a stored dataclass, with their defaults."""
    lines = str(text).removeprefix(INNER).split("\n")
    if section == "classes":
        if not lines[0].startswith("dataclass"):
            return {}
        lines = lines[2:]
    found: dict[str, str | None] = {}
    for line in lines:
        name, assigned, default = line.partition("=")
        if name.isidentifier() and name not in ("self", "cls"):
            found[name] = default if assigned else None
    return found


def _parameter_changes(
    package: str, place: str, old: dict[str, str | None], new: dict[str, str | None], pair: tuple[str, str]
) -> Iterator[Candidate]:
    gone, come = [name for name in old if name not in new], [name for name in new if name not in old]
    for name, default in old.items():
        other = new.get(name)
        if default is not None and other is not None and default != other:
            yield _candidate("default", package, f"{place}({name})", default, other, pair)
    for name in gone:
        successor = next((later for later in come if old[name] == new[later] and _alike(name, later)), None)
        if successor is not None:
            yield _candidate("renamed", package, f"{place}({name})", name, successor, pair)
        elif new:
            yield _candidate("removed", package, f"{place}({name})", name, "", pair)


def _candidate(rule: str, package: str, place: str, removed: str, added: str, pair: tuple[str, str]) -> Candidate:
    parameter = place.rpartition("(")[2]
    weight = RULES[rule].weight + (25 if _TRAINING.search(parameter) else 0)
    weight -= 25 if _MODULES_OF_MODELS.search(place) else 0
    return Candidate(
        rule=rule,
        package=package,
        before=pair[0],
        after=pair[1],
        place=place,
        removed=(removed,),
        added=(added,) if added else (),
        weight=weight,
    )


def _alike(name: str, other: str) -> bool:
    """Whether one may be the other's new name: they share a word."""
    return bool(set(name.split("_")) & set(other.split("_")))
