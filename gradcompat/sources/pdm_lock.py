"""``pdm.lock``, lock versions 4.0 to 4.5, and ``pdm.<name>.lock``.

A package that is wanted with extras has one entry more for each set of them (``name = "fsspec"``, ``extras =
["http"]``), of the same version: the lockfile has both entries, and the environment has the package once.
"""

from __future__ import annotations

import re
from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.toml_text import parse
from gradcompat.model.environment import Environment, Location, Package, SourceKind
from gradcompat.quotation import quoted
from gradcompat.sources.lock_entries import Pin, is_tag, marker_or_none, read_entries, texts
from gradcompat.startup.lazy_patterns import lazy_pattern

_SUPPORTED = lazy_pattern(r"4(?:\.\d+)*")
_ARCHIVE = lazy_pattern(r"\.(?:whl|zip|tgz|tar\.\w+)", re.IGNORECASE)


def read(document: Document) -> Environment:
    """Read a PDM lockfile.

    Raises:
        Malformed: if it is not TOML or lacks what PDM writes into every lockfile.
        UnsupportedFormatVersion: if PDM wrote a version that is not known here.
    """
    content = parse(document.text, document.path)
    metadata = content.get("metadata")
    version = metadata.get("lock_version") if isinstance(metadata, dict) else None
    if not isinstance(version, str):
        raise Malformed("has no `[metadata]` with a `lock_version` as pdm.lock does", path=document.path)
    if not _SUPPORTED.fullmatch(version):
        raise UnsupportedFormatVersion(
            f"lock version {quoted(version, '…')} is not supported",
            path=document.path,
            hint="gradcompat reads versions 4.x",
        )
    packages, skipped = read_entries(content, "package", document, _package)
    return Environment(source=document.path, kind="pdm.lock", packages=packages, closed=True, skipped=skipped)


def _package(entry: dict[str, Any], pin: Pin, location: Location) -> Package:
    source = _source(entry)
    groups = texts(entry.get("groups"))
    return Package(
        name=pin.name,
        version=pin.version,
        source=source,
        marker=marker_or_none(entry.get("marker")),
        extras=() if "default" in groups else groups,
        unreleased=source == "git" and not is_tag(entry.get("ref"), pin.version),
        location=location,
    )


def _source(entry: dict[str, Any]) -> SourceKind:
    if "git" in entry:
        return "git"
    if entry.get("editable") is True:
        return "editable"
    path = entry.get("path")
    if isinstance(path, str):
        return "path" if _ARCHIVE.search(path[-12:]) else "directory"
    return "url" if "url" in entry else "registry"
