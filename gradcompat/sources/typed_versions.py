"""A list of versions in one line, as people type it: ``torch 2.4.0, trl==0.9.6 and Python 3.10 on an A100``.

A line that says anything else is prose, of which nothing is believed: it may tell what somebody went back to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradcompat.host.gpu_names import gpus_in
from gradcompat.requirements.spoken_names import HEADING, package_called
from gradcompat.requirements.versions import parse_version
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_HEADING = lazy_pattern(HEADING, re.IGNORECASE)
_PART = lazy_pattern(r"[^,;]+")
_WORD = lazy_pattern(r"[^\s=:`*]+")
_VERSION = lazy_pattern(r"v?(\d+\.\d[\w.+!-]*)")
_BETWEEN = frozenset({"and", "with", "on", "an", "a", "+", "&"})
# What is beside the packages; the CUDA that people name may be the driver's, and says nothing.
_BESIDE = frozenset({"python", "cuda"})


@dataclass(frozen=True, slots=True)
class TypedVersion:
    """A name with its version.

    Attributes:
        name: the package by its canonical name, or ``python``.
        version: without a `v` before it.
        place: the offset of the version in the line.
    """

    name: str
    version: str
    place: int


@dataclass(frozen=True, slots=True)
class TypedList:
    """What one line lists: versions, and the texts that name GPUs with their offsets."""

    versions: tuple[TypedVersion, ...]
    gpus: tuple[tuple[str, int], ...]


def typed_list(text: str) -> TypedList | None:
    """The packages that a line lists, each before or behind its version; None if it says anything else."""
    heading = _HEADING.match(text)
    start = heading.end() if heading else 0
    words: list[re.Match[str]] = []
    gpus: list[tuple[str, int]] = []
    for part in _PART.finditer(text, start):
        found = [word for word in _WORD.finditer(text, *part.span()) if word[0].lower() not in _BETWEEN]
        if gpus_in(part[0]) and not any(map(_name, found)):
            gpus.append((part[0].strip(), part.start()))
        else:
            words += found
    versions = tuple(_pairs(words))
    listed = any(version.name not in _BESIDE for version in versions)
    return TypedList(tuple(one for one in versions if one.name != "cuda"), tuple(gpus)) if listed else None


def _pairs(words: list[re.Match[str]]) -> Iterator[TypedVersion]:
    """Names with the versions beside them; none if a word is neither."""
    found: list[TypedVersion] = []
    for first in range(0, len(words), 2):
        pair = words[first : first + 2]
        names = [name for word in pair if (name := _name(word)) is not None]
        versions = [(match, word) for word in pair if (match := _VERSION.fullmatch(word[0])) is not None]
        if len(pair) != 2 or len(names) != 1 or len(versions) != 1:
            return
        match, word = versions[0]
        if parse_version(match[1]) is None:
            return
        found.append(TypedVersion(names[0], match[1], word.start() + match.start(1)))
    yield from found


def _name(word: re.Match[str]) -> str | None:
    return package_called(word[0]) or (word[0].lower() if word[0].lower() in _BESIDE else None)
