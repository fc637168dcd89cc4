"""SPDX SBOMs: 2.2 and 2.3 as JSON or as ``Tag: value`` lines, and 3.0 as JSON-LD.

A package says by an external reference, its package URL, what it is; GitHub's export puts the range that a manifest
asks for where its version should be. What the document describes, if that is one package among several, is the project.
Nothing says that the list is complete, so it counts as a part (``closed=False``).
"""

from __future__ import annotations

import re
from typing import Any

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.environment import Environment, Location, Skipped
from gradcompat.quotation import reference
from gradcompat.sources.purl import component, gathered
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_HINT = "gradcompat reads SPDX 2.2, 2.3 and 3.0"
_TWO = lazy_pattern(r"SPDX-2\.[0-3]")
_THREE = lazy_pattern(r"https://spdx\.org/rdf/3\.0[^/]*/")
_TAG = lazy_pattern(r"([A-Z][A-Za-z0-9]*):[ \t]*(.*)")
_ROOT = "SPDXRef-DOCUMENT"


@dataclass(slots=True)
class _Element:
    """A package of an SBOM, before it is known whether it is one of Python's."""

    identity: str
    name: str
    location: Location
    version: str | None = None
    purl: str | None = None
    purpose: str = ""


def read(document: Document) -> Environment:
    """Read an SPDX SBOM.

    Raises:
        Malformed: if it is no SPDX document.
        UnsupportedFormatVersion: if it is of a version, or in a form, that is not known here.
    """
    skipped: list[Skipped] = []
    text = document.text.lstrip()
    if text.startswith("{"):
        elements, described = _json(document, skipped)
    elif text.startswith("<"):
        raise UnsupportedFormatVersion("SPDX in XML is not supported", path=document.path, hint=_HINT + ", in JSON")
    elif re.match(r"(?:---\s|#|\s)*(?:spdxVersion|SPDXID)\s*:", text):
        raise UnsupportedFormatVersion("SPDX in YAML is not supported", path=document.path, hint=_HINT + ", in JSON")
    else:
        elements, described = _tag_value(document)
    project = described.pop() if len(described) == 1 and len(elements) > 1 else None
    found = gathered(
        Skipped(
            what=reference(element.name, "a package"),
            reason="is what the SBOM is about",
            gap=False,
            location=element.location,
        )
        if element.identity == project
        else component(element.purl, element.name, element.version, element.purpose, element.location)
        for element in elements
    )
    return Environment(
        source=document.path,
        kind="spdx",
        packages=found.packages,
        closed=False,
        skipped=(*skipped, *found.skipped),
        python=found.python,
    )


def _json(document: Document, skipped: list[Skipped]) -> tuple[list[_Element], set[str]]:
    content = parse(document.text, document.path)
    places = Places(document.text, document.path)
    prefix: tuple[str, ...] = ()
    if isinstance(content, dict) and isinstance(content.get("sbom"), dict):  # as GitHub's interface answers
        content, prefix = content["sbom"], ("sbom",)
    if not isinstance(content, dict):
        raise Malformed("is not an SPDX document", path=document.path)
    if "spdxVersion" in content:
        version = content["spdxVersion"]
        _check(_TWO.fullmatch(str(version)) is not None, version, places.of(*prefix, "spdxVersion"))
        return _version_two(content, places, prefix, skipped)
    context = content.get("@context")
    first = context[0] if isinstance(context, list) and context else context
    if not isinstance(first, str) or "spdx.org" not in first:
        raise Malformed("has no `spdxVersion` as an SPDX document has", path=document.path)
    _check(_THREE.match(first) is not None, first, places.of("@context"))
    return _version_three(content, places, skipped)


def _check(known: bool, version: object, location: Location) -> None:
    if not known:
        raise UnsupportedFormatVersion(
            f"`{reference(str(version), '…')}` is not supported",
            path=location.path,
            line=location.line,
            hint=_HINT,
        )


def _subject(element: _Element) -> Skipped:
    reason = "is what the SBOM is about"
    return Skipped(what=reference(element.name, "a package"), reason=reason, gap=False, location=element.location)


def _version_two(
    content: dict[str, Any], places: Places, prefix: tuple[str, ...], skipped: list[Skipped]
) -> tuple[list[_Element], set[str]]:
    elements: list[_Element] = []
    for index, entry in enumerate(_array(content, "packages", places, prefix, skipped)):
        keys: tuple[str | int, ...] = (*prefix, "packages", index)
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(name, str):
            skipped.append(Skipped(what=f"`packages[{index}]`", reason="has no name", location=places.of(*keys)))
            continue
        version = entry.get("versionInfo")
        place = places.of(*keys, "versionInfo" if isinstance(version, str) else "name")
        element = _Element(str(entry.get("SPDXID")), name, place, version if isinstance(version, str) else None)
        element.purpose = _purpose(entry.get("primaryPackagePurpose"))
        references = entry.get("externalRefs")
        for one in references if isinstance(references, list) else ():
            if isinstance(one, dict) and one.get("referenceType") == "purl":
                locator = one.get("referenceLocator")
                element.purl = locator if isinstance(locator, str) else element.purl
        elements.append(element)
    described = {one for one in _listed(content, "documentDescribes") if isinstance(one, str)}
    for one in _listed(content, "relationships"):
        if isinstance(one, dict) and one.get("relationshipType") == "DESCRIBES":
            described.add(str(one.get("relatedSpdxElement")))
    return elements, described


def _version_three(content: dict[str, Any], places: Places, skipped: list[Skipped]) -> tuple[list[_Element], set[str]]:
    elements: list[_Element] = []
    described: set[str] = set()
    for index, entry in enumerate(_array(content, "@graph", places, (), skipped)):
        if not isinstance(entry, dict):
            location = places.of("@graph", index)
            skipped.append(Skipped(what=f"`@graph[{index}]`", reason="is not an object", location=location))
            continue
        kind = entry.get("type", entry.get("@type"))
        if kind in ("SpdxDocument", "software_Sbom"):
            described.update(root for root in _listed(entry, "rootElement") if isinstance(root, str))
        if kind != "software_Package":
            continue
        version, name = entry.get("software_packageVersion"), entry.get("name")
        key = "software_packageVersion" if isinstance(version, str) else "name"
        element = _Element(
            str(entry.get("spdxId", entry.get("@id"))),
            name if isinstance(name, str) else "",
            places.of("@graph", index, key),
            version if isinstance(version, str) else None,
            purpose=_purpose(entry.get("software_primaryPurpose")),
        )
        address = entry.get("software_packageUrl")
        for one in _listed(entry, "externalIdentifier"):
            if isinstance(one, dict) and one.get("externalIdentifierType") in ("packageUrl", "purl"):
                address = address or one.get("identifier")
        element.purl = address if isinstance(address, str) else None
        elements.append(element)
    return elements, described


def _tag_value(document: Document) -> tuple[list[_Element], set[str]]:
    """``PackageName: torch`` begins a package, and what follows is about it."""
    elements: list[_Element] = []
    described: set[str] = set()
    current: _Element | None = None
    version: str | None = None
    in_text = False
    for number, line in enumerate(document.text.split("\n"), start=1):
        if in_text or "<text>" in line:
            # Licences and comments; what they say is no tag of the document.
            in_text = "</text>" not in line[line.find("<text>") + 1 :] if not in_text else "</text>" not in line
            continue
        match = _TAG.match(line.rstrip("\r"))
        if match is None:
            continue
        tag, value = match[1], match[2].strip()
        location = Location(path=document.path, line=number, column=match.start(2) + 1)
        if tag == "SPDXVersion":
            version = value
            _check(_TWO.fullmatch(value) is not None, value, location)
        elif tag == "PackageName":
            current = _Element("", value, location)
            elements.append(current)
        elif tag in ("FileName", "SnippetSPDXID"):
            current = None
        elif tag == "Relationship":
            words = value.split()
            if len(words) >= 3 and words[0] == _ROOT and words[1] == "DESCRIBES":
                described.add(words[2])
        elif current is not None:
            _package_tag(current, tag, value, location)
    if version is None:
        raise Malformed("has no `SPDXVersion:` line", path=document.path)
    return elements, described


def _package_tag(element: _Element, tag: str, value: str, location: Location) -> None:
    if tag == "SPDXID":
        element.identity = value
    elif tag == "PackageVersion":
        element.version, element.location = value, location
    elif tag == "PrimaryPackagePurpose":
        element.purpose = _purpose(value)
    elif tag == "ExternalRef":
        words = value.split()  # PACKAGE-MANAGER purl pkg:pypi/torch@2.2.2
        if len(words) == 3 and words[1] == "purl":
            element.purl = words[2]


def _purpose(value: object) -> str:
    return value.lower() if isinstance(value, str) else ""


def _array(
    content: dict[str, Any], key: str, places: Places, prefix: tuple[str, ...], skipped: list[Skipped]
) -> list[Any]:
    entries = content.get(key, [])
    if isinstance(entries, list):
        return entries
    skipped.append(Skipped(what=f"`{key}`", reason="is not an array", location=places.of(*prefix, key)))
    return []


def _listed(content: dict[str, Any], key: str) -> list[Any]:
    value = content.get(key)
    return value if isinstance(value, list) else []
