"""Reads one document with the reader that fits: by its name, and by its content where the name is wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath

from gradcompat.budget import Budget
from gradcompat.dependency_formats import BY_KIND, Format, by_name
from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.fenced_blocks import fenced_blocks, has_fences
from gradcompat.lazy_dataclasses import replace
from gradcompat.model.environment import Environment, Location, Package, Skipped

# Looser than PEP 440: conda has `9e`, and a branch of a fork is called after the release that it left.
_VERSION = re.compile(r"[vr]?\d[\w.+!~*-]{0,199}")
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
    name = PurePath(document.path).name
    expected = None if document.file is None else by_name(name)
    if expected is None or expected.text:
        kind = _recognised(document.text)
        if kind is None and expected is None:
            block = _listing_block(document)
            if block is not None:
                return _read(block)
            raise Malformed(
                "is not in a format that gradcompat reads",
                path=document.path,
                hint="it reads lockfiles, requirements, pip and conda lists, SBOMs, reports and training configs",
            )
        return read_as(expected if kind is None and expected is not None else BY_KIND[str(kind)], document)
    try:
        return read_as(expected, document)
    except Malformed:
        kind = _recognised(document.text)
        if kind is None or kind == expected.kind:
            raise
        environment = read_as(BY_KIND[kind], document)
    note = Skipped(
        what=name,
        reason=f"named like {expected.kind}, but contains {kind}: read as {kind}",
        gap=False,
        location=Location(path=document.path),
    )
    return replace(environment, skipped=(note, *environment.skipped))


def _listing_block(document: Document) -> Document | None:
    """The first code block of a pasted text that lists packages, with its lines where they stand; None without one."""
    if not has_fences(document.text):
        return None
    for block in fenced_blocks(document.text):
        if _recognised(block.text) is not None:
            return replace(document, text="\n" * (block.line - 1) + block.text)
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
