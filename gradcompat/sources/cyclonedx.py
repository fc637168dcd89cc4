"""CycloneDX SBOMs in JSON, versions 1.2 to 1.7.

Components nest, and any of them may be a package. The component in ``metadata`` is what the SBOM is about: the project,
not a part of it. Few SBOMs say that they are complete, and one that does not counts as a part (``closed=False``).
"""

from __future__ import annotations

from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.environment import Environment, Package, Skipped
from gradcompat.quotation import quoted, reference
from gradcompat.sources.purl import component, gathered

SUPPORTED = ("1.2", "1.3", "1.4", "1.5", "1.6", "1.7")

_MAX_DEPTH = 50
_UV_MARKER = "uv:package:marker"

_Keys = tuple[str | int, ...]


def read(document: Document) -> Environment:
    """Read a CycloneDX SBOM.

    Raises:
        Malformed: if it is not JSON or no CycloneDX SBOM.
        UnsupportedFormatVersion: if it is of a version that is not known here, or in XML.
    """
    if document.text.lstrip().startswith("<"):
        raise UnsupportedFormatVersion(
            "CycloneDX in XML is not supported",
            path=document.path,
            hint="`cyclonedx convert --output-format json` makes JSON of it",
        )
    content = parse(document.text, document.path)
    if not isinstance(content, dict) or content.get("bomFormat") != "CycloneDX":
        raise Malformed('has no `"bomFormat": "CycloneDX"`', path=document.path)
    places = Places(document.text, document.path)
    version = content.get("specVersion")
    if version not in SUPPORTED:
        raise UnsupportedFormatVersion(
            f"CycloneDX {quoted(version, '…')} is not supported"
            if isinstance(version, str)
            else "does not say its `specVersion`",
            path=document.path,
            line=places.of("specVersion").line,
            hint=f"gradcompat reads versions {SUPPORTED[0]} to {SUPPORTED[-1]}",
        )
    skipped: list[Skipped] = []
    components = _components(content, places, skipped)
    found = gathered(_package(entry, keys, places) for keys, entry in components)
    skipped += found.skipped
    return Environment(
        source=document.path,
        kind="cyclonedx",
        packages=found.packages,
        closed=_complete(content) and not any(note.gap for note in skipped),
        skipped=tuple(skipped),
        python=found.python,
    )


def _components(content: dict[str, Any], places: Places, skipped: list[Skipped]) -> list[tuple[_Keys, Any]]:
    """Every component with the keys that lead to it: first those at the top, then those within others."""
    metadata = content.get("metadata")
    project = metadata.get("component") if isinstance(metadata, dict) else None
    pending: list[tuple[_Keys, Any]] = [(("components",), content.get("components", []))]
    if isinstance(project, dict):
        name = project.get("name")
        what = reference(name, "metadata.component") if isinstance(name, str) else "metadata.component"
        place = places.of("metadata", "component", "name")
        skipped.append(Skipped(what=what, reason="is what the SBOM is about", gap=False, location=place))
        pending.append((("metadata", "component", "components"), project.get("components", [])))
    found: list[tuple[_Keys, Any]] = []
    for keys, entries in pending:  # which grows on the way
        if not isinstance(entries, list):
            skipped.append(Skipped(what=_dotted(keys), reason="is not an array", location=places.of(*keys)))
            continue
        for index, entry in enumerate(entries):
            found.append(((*keys, index), entry))
            if not isinstance(entry, dict) or "components" not in entry:
                continue
            if len(keys) > 2 * _MAX_DEPTH:
                place = places.of(*keys, index, "components")
                skipped.append(Skipped(what="components", reason="are nested too deeply", location=place))
            else:
                pending.append(((*keys, index, "components"), entry["components"]))
    return found


def _package(entry: Any, keys: _Keys, places: Places) -> Package | Skipped | str:
    """The package that a component is, why it cannot be told, or of which other kind it is."""
    if not isinstance(entry, dict):
        return Skipped(what=_dotted(keys), reason="is not an object", location=places.of(*keys))
    words = {key: value for key, value in entry.items() if isinstance(value, str)}
    # The version, or else the package URL, or else the name.
    place = next((places.of(*keys, key) for key in ("version", "purl", "name") if key in words), places.of(*keys))
    return component(
        words.get("purl") or None,
        words.get("name", ""),
        words.get("version"),
        words.get("type", ""),
        place,
        _marker(entry),
    )


def _marker(entry: dict[str, Any]) -> str | None:
    """The marker that uv writes among the properties."""
    properties = entry.get("properties")
    for one in properties if isinstance(properties, list) else ():
        if isinstance(one, dict) and one.get("name") == _UV_MARKER and isinstance(one.get("value"), str):
            return str(one["value"])
    return None


def _complete(content: dict[str, Any]) -> bool:
    """Does it say that nothing is missing?"""
    compositions = content.get("compositions")
    if not isinstance(compositions, list) or not compositions:
        return False
    return all(
        isinstance(composition, dict) and composition.get("aggregate") == "complete" for composition in compositions
    )


def _dotted(keys: _Keys) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return f"`{text.lstrip('.')}`"
