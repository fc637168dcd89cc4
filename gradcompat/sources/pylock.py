"""``pylock.toml`` and ``pylock.<name>.toml`` (PEP 751), lock versions 1.x.

Read from the bare tables, not with ``packaging.pylock``: that knows no lines, needs ``packaging`` 26, and refuses the
whole file for one wrong hash.
"""

from __future__ import annotations

from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.toml_text import parse
from gradcompat.model.environment import Environment, Location, Package, SourceKind
from gradcompat.quotation import quoted
from gradcompat.sources.lock_entries import Pin, is_tag, marker_or_none, read_entries
from gradcompat.startup.lazy_patterns import lazy_pattern

_SUPPORTED = lazy_pattern(r"1(?:\.\d+)*")
_CHOOSES = lazy_pattern(r"""['"]([^'"]*)['"]\s+in\s+(?:extras|dependency_groups)\b""")


def read(document: Document) -> Environment:
    """Read a lockfile in the standard format.

    Raises:
        Malformed: if it is not TOML or lacks what the standard asks of every lockfile.
        UnsupportedFormatVersion: if its version is not known here.
    """
    content = parse(document.text, document.path)
    version = content.get("lock-version")
    if not isinstance(version, str):
        raise Malformed("has no `lock-version` at its top as pylock.toml does", path=document.path)
    # "If a tool doesn't support a major version, it MUST raise an error"; a new minor version it reads all the same.
    if not _SUPPORTED.fullmatch(version):
        raise UnsupportedFormatVersion(
            f"lock version {quoted(version, '…')} is not supported",
            path=document.path,
            hint="gradcompat reads versions 1.x",
        )
    packages, skipped = read_entries(content, "packages", document, _package)
    return Environment(source=document.path, kind="pylock.toml", packages=packages, closed=True, skipped=skipped)


def _package(entry: dict[str, Any], pin: Pin, location: Location) -> Package:
    marker = marker_or_none(entry.get("marker"))
    source, unreleased = _source(entry, pin.version)
    return Package(
        name=pin.name,
        version=pin.version,
        source=source,
        marker=marker,
        extras=tuple(dict.fromkeys(_CHOOSES.findall(marker))) if marker else (),
        unreleased=unreleased,
        location=location,
    )


def _source(entry: dict[str, Any], version: str | None) -> tuple[SourceKind, bool]:
    """Where the package comes from, and whether that is a checkout of an unknown state."""
    vcs, directory, archive = entry.get("vcs"), entry.get("directory"), entry.get("archive")
    if isinstance(vcs, dict):
        # Mercurial and Subversion have no word of their own among the sources.
        kind: SourceKind = "git" if vcs.get("type", "git") == "git" else "url"
        return kind, not is_tag(vcs.get("requested-revision"), version)
    if isinstance(directory, dict):
        return ("editable" if directory.get("editable") is True else "directory"), False
    if isinstance(archive, dict):
        return ("url" if "url" in archive else "path"), False
    return "registry", False
