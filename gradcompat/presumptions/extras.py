"""What an open list brings by the extras that its requirements ask for: `datasets[audio]` installs torchcodec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from gradcompat.model.environment import Package
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bringing:
    """A package that requires another one for an extra, from some release on."""

    package: str
    extras: frozenset[str]
    versions: str = "*"


# By what is brought, as the metadata of the releases say; only what a record asks to be absent.
BROUGHT_BY_EXTRAS: Mapping[str, tuple[Bringing, ...]] = {
    "accelerate": (
        Bringing("transformers", frozenset({"accelerate", "deepspeed", "torch"})),
        Bringing("sentence-transformers", frozenset({"train"})),
    ),
    "bitsandbytes": (Bringing("trl", frozenset({"quantization"})),),
    "peft": (Bringing("trl", frozenset({"peft"})),),
    "torchcodec": (Bringing("datasets", frozenset({"audio"}), ">=4.0.0"),),
    "vllm": (Bringing("trl", frozenset({"vllm"})),),
}


def brought_by_extra(name: str, entries: Callable[[str], Iterable[Package]]) -> bool:
    """May an entry bring that package by an extra that is asked for?

    Args:
        name: the canonical name of what may be brought.
        entries: what is listed under a canonical name.
    """
    return any(
        not one.extras.isdisjoint(entry.asked_extras) and _may_be(entry, one.versions)
        for one in BROUGHT_BY_EXTRAS.get(name, ())
        for entry in entries(one.package)
    )


def _may_be(entry: Package, versions: str) -> bool:
    """Can the entry be one of these releases?"""
    wanted = _read(versions)
    if entry.version is None:
        return entry.specifier is None or bool(_read(entry.specifier) & wanted)
    version = parse_version(entry.version)
    return version is None or version in wanted


@lru_cache(maxsize=64)
def _read(versions: str) -> VersionSet:
    return VersionSet.parse(versions)
