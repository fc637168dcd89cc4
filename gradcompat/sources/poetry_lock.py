"""``poetry.lock``, lock versions 1.0 to 2.1, and those of the first Poetries, which name no lock version.

One name may stand several times. Until 2.1 the markers that tell such entries apart stand with those who ask for them,
and not in the entry; from 2.1 on the entry has them, as one text or as a table with a text for each group.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.toml_text import parse
from gradcompat.model.environment import Environment, Location, Package, SourceKind
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.sources.lock_entries import Pin, is_tag, marker_or_none, read_entries, text_or_none, texts
from gradcompat.startup.lazy_patterns import lazy_pattern

_SUPPORTED = lazy_pattern(r"[12](?:\.\d+)*")
_KINDS: dict[str, SourceKind] = {"git": "git", "url": "url", "directory": "directory", "file": "path"}


def read(document: Document) -> Environment:
    """Read a Poetry lockfile.

    Raises:
        Malformed: if it is not TOML or lacks what Poetry writes into every lockfile.
        UnsupportedFormatVersion: if Poetry wrote a version that is not known here.
    """
    content = parse(document.text, document.path)
    metadata = content.get("metadata")
    if not isinstance(metadata, dict) or not metadata.keys() & {"content-hash", "lock-version"}:
        raise Malformed("has no `[metadata]` with a `content-hash` as poetry.lock does", path=document.path)
    version = metadata.get("lock-version", "1.0")
    if not isinstance(version, str):
        raise Malformed("`lock-version` is not text", path=document.path)
    if not _SUPPORTED.fullmatch(version):
        raise UnsupportedFormatVersion(
            f"lock version {quoted(version, '…')} is not supported",
            path=document.path,
            hint="gradcompat reads versions 1.0 to 2.1",
        )
    package = partial(_package, extras=_extras(content.get("extras")))
    packages, skipped = read_entries(content, "package", document, package)
    return Environment(source=document.path, kind="poetry.lock", packages=packages, closed=True, skipped=skipped)


def _package(entry: dict[str, Any], pin: Pin, location: Location, *, extras: dict[str, list[str]]) -> Package:
    source = entry.get("source")
    if not isinstance(source, dict):
        source = {}
    kind = _KINDS.get(text_or_none(source.get("type")) or "", "registry")  # `legacy` is an index that is not PyPI
    if kind == "directory" and entry.get("develop") is True:
        kind = "editable"
    groups = texts(entry.get("groups")) or texts([entry.get("category")])  # `category` until lock version 1.1
    by_extra = tuple(extras.get(pin.name, ())) if entry.get("optional") is True else ()
    return Package(
        name=pin.name,
        version=pin.version,
        source=kind,
        marker=_marker(entry.get("markers"), groups),
        extras=by_extra or (() if "main" in groups else groups),
        unreleased=kind == "git" and not is_tag(source.get("reference"), pin.version),
        location=location,
    )


def _marker(markers: Any, groups: tuple[str, ...]) -> str | None:
    """The marker of an entry; with a marker for each group it applies where that of any group holds."""
    if not isinstance(markers, dict):
        return marker_or_none(markers)
    alternatives = [marker_or_none(markers.get(group)) for group in (groups or markers)]
    if not alternatives or None in alternatives:
        return None  # a group without a marker takes the entry everywhere
    distinct = dict.fromkeys(str(alternative) for alternative in alternatives)
    return " or ".join(f"({one})" for one in distinct) if len(distinct) > 1 else next(iter(distinct))


def _extras(table: Any) -> dict[str, list[str]]:
    """``[extras]`` turned around: the extras that ask for each package by name."""
    extras: dict[str, list[str]] = {}
    if isinstance(table, dict):
        for extra, requirements in table.items():
            for requirement in texts(requirements):
                name = normalise(re.split(r"[\s(\[;<>=!~@]", requirement.strip(), maxsplit=1)[0])
                extras.setdefault(name, []).append(extra)
    return extras
