"""``uv.lock``, versions 1 and 2 (any revision).

One name may stand many times: a fork for each platform, Python version or extra that conflicts with another. The fork's
``resolution-markers`` become the entry's marker, with uv's encoded extras (``extra-8-nanochat-cpu``) in it.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.toml_text import parse
from gradcompat.model.environment import Environment, Location, Package, SourceKind
from gradcompat.quotation import quoted
from gradcompat.sources.lock_entries import Pin, marker_or_none, read_entries, texts
from gradcompat.sources.uv_edges import conflicts, reached
from gradcompat.startup.lazy_patterns import lazy_pattern

SUPPORTED = (1, 2)

_KINDS: tuple[SourceKind, ...] = ("registry", "git", "url", "path", "directory", "editable", "virtual")
_PLATFORM = lazy_pattern(r"(?<!not )sys_platform\s*==\s*'(linux|darwin|win32)'")
_EXTRA = lazy_pattern(r"extra\s*==\s*'(?:extra|group)-(\d+)-([^']+)'")
# Files as uv writes them, and nothing that a parser of TOML would refuse.
_TEXT = r'"[^"\\\x00-\x1f\x7f]*"'
_FILE = (
    rf"\{{ (?:url|path|filename) = {_TEXT}(?:, hash = {_TEXT})?(?:, size = (?:0|[1-9]\d{{0,17}}))?"
    rf"(?:, upload-time = {_TEXT})? \}}"
)
_FILES = lazy_pattern(rf"\n(sdist|wheels) = (?:{_FILE}|\[\n(?:    {_FILE},\n)+\])(?=\n)")


def read(document: Document) -> Environment:
    """Read a uv lockfile.

    Raises:
        Malformed: if it is not TOML or has no packages where uv puts them.
        UnsupportedFormatVersion: if uv wrote a version that is not known here.
    """
    content = parse(_without_files(document.text), document.path)
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or "lock-version" in content:
        raise Malformed("has no `version = 1` at its top as uv.lock does", path=document.path)
    if version not in SUPPORTED:
        raise UnsupportedFormatVersion(
            f"lockfile version {quoted(str(version), '…')} is not supported",
            path=document.path,
            hint="gradcompat reads versions 1 and 2",
        )
    key = "package" if "package" in content else "distribution"  # before uv 0.4
    entries = content.get(key)
    manifest = content.get("manifest")
    members = manifest.get("members") if isinstance(manifest, dict) else None
    conditions = reached(entries, content.get("conflicts"), members) if isinstance(entries, list) else {}
    packages, skipped = read_entries(content, key, document, partial(_package, conditions=conditions))
    return Environment(
        source=document.path,
        kind="uv.lock",
        packages=packages,
        closed=True,
        skipped=skipped,
        python=_python(content.get("requires-python")),
        platform=_platform(content.get("supported-markers")),
        conflicts=conflicts(content.get("conflicts")),
    )


def _without_files(text: str) -> str:
    """The lockfile without the archives of its entries, on the same lines.

    They say nothing here and are most of the text: parsing without them takes a third of the time.
    """
    return _FILES.sub(lambda files: f"\n{files[1]} = []" + "\n" * (files[0].count("\n") - 1), text)


def _python(requires: Any) -> str | None:
    """The minor version, where the lockfile is for one alone: ``==3.11.*``."""
    match = re.fullmatch(r"==\s*(\d+\.\d+)\.\*", requires) if isinstance(requires, str) else None
    return match[1] if match else None


def _platform(markers: Any) -> str | None:
    """The platform, where every environment that the lockfile supports is on the same one."""
    if not isinstance(markers, list) or not markers:
        return None
    named = [
        set(_PLATFORM.findall(marker)) if isinstance(marker, str) and " or " not in marker else set()
        for marker in markers
    ]
    shared = set.intersection(*named)
    return shared.pop() if len(shared) == 1 else None


def _package(entry: dict[str, Any], pin: Pin, location: Location, *, conditions: dict[int, tuple[str, ...]]) -> Package:
    source = entry.get("source", {})
    kind: SourceKind = "registry"
    if isinstance(source, dict):
        kind = next((known for known in _KINDS if known in source), "registry")
    forks = entry.get("resolution-markers")
    markers = tuple(filter(None, map(marker_or_none, texts(forks)))) if forks else ()
    marker = _any_of(markers) if markers else None
    led_by = conditions.get(id(entry), ())
    return Package(
        name=pin.name,
        version=pin.version,
        source=kind,
        marker=marker,
        extras=_extras((marker,) if marker is not None and not led_by else led_by),
        reached=led_by,
        unreleased=kind == "git" and not _names_tag(source.get("git"), pin.version),
        location=location,
    )


def _any_of(markers: tuple[str, ...]) -> str:
    return markers[0] if len(markers) == 1 else " or ".join(f"({marker})" for marker in markers)


@lru_cache(maxsize=1024)  # the entries of one fork share their marker
def _extras(markers: tuple[str, ...]) -> tuple[str, ...]:
    """The conflicting extras that choose an entry: ``extra-8-nanochat-cpu`` is ``cpu`` of the 8 letters nanochat.

    Each alternative of a marker that asks for exactly one extra names it; where one asks for none, no extra is needed.
    """
    chosen: dict[str, None] = {}
    for clause in (clause for marker in markers for clause in marker.split(" or ")):
        wanted = {rest[int(length) + 1 :] or rest for length, rest in _EXTRA.findall(clause)}
        if not wanted:
            return ()
        if len(wanted) == 1:
            chosen[wanted.pop()] = None
    return tuple(chosen)


def _names_tag(git: Any, version: str | None) -> bool:
    """Was the tag of that very release asked for (``?tag=v4.49.0`` or ``?rev=v4.49.0``)?"""
    if not isinstance(git, str) or version is None:
        return False
    return re.search(rf"[?&](?:rev|tag)=v?{re.escape(version)}(?:[&#]|$)", git) is not None
