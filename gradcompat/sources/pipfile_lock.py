"""``Pipfile.lock`` (Pipenv, specification 6): ``default``, ``develop`` and any further category.

A package may stand in several categories. An entry with a file, a folder or a repository usually has no version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.environment import Environment, Location, Package, Skipped, SourceKind
from gradcompat.quotation import quoted
from gradcompat.requirements.versions import VersionSet
from gradcompat.sources.lock_entries import is_tag, marker_or_none, read_pin, split, text_or_none
from gradcompat.startup.lazy_patterns import lazy_pattern

SUPPORTED = 6

_EXACT = lazy_pattern(r"={2,3}\s*([^\s,*]+)")


def read(document: Document) -> Environment:
    """Read a Pipenv lockfile.

    Raises:
        Malformed: if it is not JSON or lacks what Pipenv writes into every lockfile.
        UnsupportedFormatVersion: if it holds to another specification.
    """
    content = parse(document.text, document.path)
    metadata = content.get("_meta") if isinstance(content, dict) else None
    if not isinstance(metadata, dict):
        raise Malformed("has no `_meta` as Pipfile.lock does", path=document.path)
    specification = metadata.get("pipfile-spec", SUPPORTED)
    if not isinstance(specification, int):
        raise Malformed("`pipfile-spec` is not a number", path=document.path)
    if specification != SUPPORTED:
        raise UnsupportedFormatVersion(
            f"Pipfile specification {quoted(str(specification), '…')} is not supported",
            path=document.path,
            hint=f"gradcompat reads specification {SUPPORTED}",
        )
    packages, skipped = split(_entries(content, Places(document.text, document.path)), document.path)
    return Environment(
        source=document.path,
        kind="Pipfile.lock",
        packages=packages,
        closed=True,
        skipped=skipped,
        python=_python(metadata.get("requires")),
    )


def _python(requires: Any) -> str | None:
    if not isinstance(requires, dict):
        return None
    return text_or_none(requires.get("python_full_version")) or text_or_none(requires.get("python_version"))


def _entries(content: dict[str, Any], places: Places) -> Iterator[Package | Skipped]:
    for category, section in content.items():
        if category == "_meta":
            continue
        if not isinstance(section, dict):
            yield Skipped(
                what=quoted(category, "a category"), reason="is not a table of packages", location=places.key(category)
            )
            continue
        for name, entry in section.items():
            yield _package(category, name, entry, places)


def _package(category: str, name: str, entry: Any, places: Places) -> Package | Skipped:
    location = places.key(category, name)
    if isinstance(entry, str):  # `"name": "==1.0"`
        entry = {"version": entry}
        location = places.of(category, name)
    elif isinstance(entry, dict) and "version" in entry:
        location = places.of(category, name, "version")
    if not isinstance(entry, dict):
        return Skipped(what=quoted(name, "an entry"), reason="is not a table", location=location)
    pin = read_pin(name, entry.get("version"), location)
    if isinstance(pin, Skipped):
        return pin
    version, specifier = None, None
    if pin.version is not None:
        exact = _EXACT.fullmatch(pin.version.strip())
        if exact:
            version = exact[1]
        elif _is_set(pin.version):
            specifier = pin.version.strip()
        else:
            return Skipped(what=quoted(name, "an entry"), reason="its version is invalid", location=location)
    source = _source(entry)
    return Package(
        name=pin.name,
        version=version,
        specifier=specifier,
        source=source,
        marker=marker_or_none(entry.get("markers")),
        extras=() if category == "default" else (category,),
        unreleased=source == "git" and not is_tag(entry.get("ref"), version),
        location=_behind_operator(location, pin.version, version),
    )


def _source(entry: dict[str, Any]) -> SourceKind:
    if "git" in entry:
        return "git"
    if entry.get("editable") is True:
        return "editable"
    if "path" in entry:
        return "directory"
    file = entry.get("file")
    # With an index the file is where the index has it.
    if isinstance(file, str) and "index" not in entry:
        return "url" if "://" in file and not file.startswith("file:") else "path"
    return "registry"


def _is_set(text: str) -> bool:
    try:
        VersionSet.parse(text)
    except ValueError:
        return False
    return True


def _behind_operator(location: Location, written: str | None, version: str | None) -> Location:
    """The place of the version itself, behind the quote and the operator."""
    if written is None or version is None or location.column is None:
        return location
    return Location(path=location.path, line=location.line, column=location.column + 1 + written.index(version))
