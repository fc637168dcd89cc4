"""Reads one document with the reader that fits: by its name, and by its content where the name is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import PurePath

from gradcompat.budget import Budget
from gradcompat.dependency_formats import BY_KIND, Format, by_name
from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats.document import Document
from gradcompat.formats.fenced_blocks import (
    JSON,
    PYTHON,
    SHELL,
    YAML,
    FencedBlock,
    fenced_blocks,
    has_fences,
    without_blocks,
)
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# Looser than PEP 440: conda has `9e`, and a branch of a fork is called after the release that it left.
_VERSION = lazy_pattern(r"[vr]?\d[\w.+!~*-]{0,199}")
_CODE = frozenset((*PYTHON, *YAML, *JSON, *SHELL))
_PROSE = frozenset({".md", ".markdown", ".txt", ""})
_LONGEST_PROSE = 100_000  # characters; an issue has at most 65,536
MOST_ENTRIES = 200  # of one name: a library that has an extra for each build of torch lists 150 wheels of xformers
MOST_REPEATED = 400  # of all names, beside the first ones
_FIRST = 20  # a lockfile has an entry of a package for each fork
MOST_SKIPPED = 1_000


def read(document: Document) -> Environment:
    """The environment that a document describes.

    Raises:
        SourceError: if it is nothing that can be read, or broken.
    """
    if not document.text.strip():
        raise Malformed("is empty", path=document.path)
    return _bounded(_read(document))


def _bounded(environment: Environment) -> Environment:
    """The environment with no more entries of one name, and no more gaps, than can be looked at one by one."""
    counts = Counter(package.name for package in environment.packages)
    many = {name: count for name, count in counts.items() if count > _FIRST}
    skipped = environment.skipped
    if len(skipped) > MOST_SKIPPED:
        more = len(skipped) - MOST_SKIPPED
        rest = Skipped(
            what=f"{more:,} more parts",
            reason="cannot be read either",
            gap=any(part.gap for part in skipped[MOST_SKIPPED:]),
            location=Location(path=environment.source),
        )
        skipped = (*skipped[:MOST_SKIPPED], rest)
    if not many:
        return environment if skipped is environment.skipped else replace(environment, skipped=skipped)
    seen: Counter[str] = Counter()
    packages: list[Package] = []
    repeated = Budget(MOST_REPEATED)
    for package in environment.packages:
        if seen[package.name] < _FIRST or (seen[package.name] < MOST_ENTRIES and repeated.take()):
            seen[package.name] += 1
            packages.append(package)
    unchecked = tuple(
        Skipped(
            what=name,
            reason=f"appears {count:,} times: only the first {seen[name]} entries are checked",
            location=Location(path=environment.source),
        )
        for name, count in many.items()
        if seen[name] < count
    )
    return replace(environment, packages=tuple(packages), skipped=(*skipped, *unchecked[:MOST_SKIPPED]))


def _read(document: Document) -> Environment:
    expected = None if document.file is None else by_name(PurePath(document.path).name)
    if expected is None:
        return _read_nameless(document)
    if expected.text:
        kind = _recognised(document.text)
        return read_as(expected if kind is None else BY_KIND[kind], document)
    try:
        return read_as(expected, document)
    except Malformed:
        kind = _recognised(document.text)
        if kind is None or kind == expected.kind:
            raise
        environment = read_as(BY_KIND[kind], document)
    note = Skipped(
        what=PurePath(document.path).name,
        reason=f"named like {expected.kind}, but contains {kind}: read as {kind}",
        gap=False,
        location=Location(path=document.path),
    )
    return replace(environment, skipped=(note, *environment.skipped))


def _read_nameless(document: Document) -> Environment:
    """A text whose name says nothing: as the list that it is or has in a code block, or else by its sentences."""
    if has_fences(document.text):
        document = replace(document, text=without_blocks(document.text, _is_code))
    kind = _recognised(document.text)
    failure = Malformed(
        "is not in a format that gradcompat reads",
        path=document.path,
        hint="it reads lockfiles, requirements, pip and conda lists, SBOMs, reports and training configs",
    )
    if kind is not None:
        try:
            return read_as(BY_KIND[kind], document)
        except Malformed as error:
            failure = error
    found = _read_block(document) or _read_prose(document)
    if found is None:
        raise failure
    return found


def _read_block(document: Document) -> Environment | None:
    """The first code block of a pasted text that lists packages, with its lines where they stand; None without one."""
    if not has_fences(document.text):
        return None
    for block in fenced_blocks(document.text):
        kind = _recognised(block.text)
        if kind is not None:
            with suppress(Malformed):
                return read_as(BY_KIND[kind], replace(document, text="\n" * (block.line - 1) + block.text))
    return None


def _is_code(block: FencedBlock) -> bool:
    """Is a code block what trains, and no list of packages?"""
    return block.language in _CODE and _recognised(block.text) is None


def _read_prose(document: Document) -> Environment | None:
    """What the sentences of a text mention; None if they mention no package, or it is no text for people."""
    if len(document.text) > _LONGEST_PROSE or PurePath(document.path).suffix.lower() not in _PROSE:
        return None
    from gradcompat.sources.report import read_prose

    with suppress(Unrecognised):
        return read_prose(replace(document, text=without_blocks(document.text, lambda _: True)))
    return None


def _recognised(text: str) -> str | None:
    # Only names that say too little come here; its two dozen patterns are not compiled for a plain uv.lock.
    from gradcompat.sources.recognise import recognise

    return recognise(text)


def read_as(expected: Format, document: Document) -> Environment:
    """The environment of a document that is of that format.

    Raises:
        SourceError: if it is something else, or broken.
    """
    read_document: Callable[[Document], Environment] = import_module(f"gradcompat.sources.{expected.reader}").read
    environment = read_document(document)
    if all(package.version is None or _VERSION.fullmatch(package.version) for package in environment.packages):
        return environment
    return replace(environment, packages=tuple(map(_with_version, environment.packages)))


def _with_version(package: Package) -> Package:
    """The package; without a version where what stands there has not even the form of one, and may be anything."""
    known = package.version is None or _VERSION.fullmatch(package.version)
    return package if known else replace(package, version=None, malformed_version=True)
