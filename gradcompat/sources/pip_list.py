"""``pip list`` and ``uv pip list``: columns, ``--format=json``, ``--format=freeze``, and pastes of them.

The blocks of ``pip show`` are read as well, and names joined to their versions by a dash (``transformers-4.46.0``), as
pip says what it has installed. A list with its header (or as JSON) is a whole environment: what is not in it is not
installed (``closed``). A paste that begins in the middle may lack its other half, and ``pip list --outdated`` shows a
choice only: neither is closed.
"""

from __future__ import annotations

import re
from typing import Any

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.formats.pasted_text import PastedLine, pasted_lines
from gradcompat.model.environment import Environment, Package, Skipped, SourceKind
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import parse_version
from gradcompat.startup.lazy_patterns import lazy_pattern

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_HEADER = lazy_pattern(r"\s*Package\s+Version(?:\s+(.*))?")
_RULE = lazy_pattern(r"\s*-+\s+-+[\s-]*")
_ROW = lazy_pattern(rf"\s*({_NAME})\s+(\S+)(?:\s+(\S.*))?")
_PIN = lazy_pattern(rf"\s*({_NAME})===?(\S+)")
_LEGACY = lazy_pattern(rf"\s*({_NAME}) \(([^\s,()]+)(?:, ([^()]+))?\)")  # before pip 10
_DASHED = lazy_pattern(rf"\s*(?:[-*]\s+)?({_NAME}?)-(\d+(?:\.\d+)+[\w.+!]*)")
_SHOWN_KEY = lazy_pattern(r"\s*([A-Z][a-z]+(?:[- ][A-Za-z]+)*): ?(.*)")
_PLACE = lazy_pattern(r"(?:[/~]|[A-Za-z]:[\\/]|file:).*")
_SITE = lazy_pattern(r"(?:site|dist)-packages(?:\s|$)")
_INSTALLER = lazy_pattern(r"pip|uv|conda|poetry|pdm|pixi|hatch")
_CONDA_BUILD = lazy_pattern(r"\S*_\d+(?:\s+\S+)?")
_BARE = (_PIN, _LEGACY, _DASHED, _ROW)
_NOISE = lazy_pattern(r"\s*(?:WARNING:|DEPRECATION:|\[notice\]|\$ |%|!|#|\(\S+\) |\S*>|\.{3,}|…).*")
_SHOWN = 100


def read(document: Document) -> Environment:
    """Read a list of installed packages.

    Raises:
        Malformed: if there is no line or element in it that such a list has.
    """
    if document.text.lstrip("\ufeff \t\r\n").startswith("["):
        return _read_json(document)
    lines, skipped = pasted_lines(document)
    packages: list[Package] = []
    used = read_tables(document.path, lines, packages, skipped)
    used |= read_blocks(document.path, lines, packages, skipped)
    if used:
        outside = sum(1 for index, line in enumerate(lines) if line.text.strip() and index not in used)
        if outside:
            count = f"{outside} line{'s' if outside > 1 else ''}"
            skipped.append(Skipped(what=count, reason="outside the list", gap=False))
    else:
        _read_bare(document.path, lines, packages, skipped)
        if not packages:
            bad = next((line.number for line in lines if line.text.strip()), None)
            raise Malformed("has no line that `pip list` writes", path=document.path, line=bad)
    return Environment(
        source=document.path,
        kind="pip-list",
        packages=tuple(packages),
        closed=_is_whole(lines, used) and bool(packages) and not any(one.gap for one in skipped),
        skipped=tuple(skipped),
    )


def read_tables(path: str, lines: list[PastedLine], packages: list[Package], skipped: list[Skipped]) -> set[int]:
    """Read the rows below each header, wherever in the text it stands.

    A line that is no row ends the table. Below it only rows count whose version stands in the column of the header:
    something came between, and what follows may be prose.

    Returns:
        The indices of the lines that belong to a table.
    """
    used: set[int] = set()
    column: int | None = None
    broken = False
    for index, line in enumerate(lines):
        if index in used:  # the rule below a header
            continue
        if _is_header(lines, index):
            used |= {index, index + 1}
            column, broken = line.text.index("Version"), False
            continue
        if column is None or not line.text.strip():
            broken = broken or column is not None
            continue
        match = _ROW.fullmatch(line.text)
        # A row has its version in the column of the header, or has a version; behind a gap in the table it has both.
        signs = 0 if match is None else (match.start(2) == column) + _is_version(match[2])
        if match and not _NOISE.fullmatch(line.text) and signs > broken:
            packages.append(_package(match, line, path))
            used.add(index)
            continue
        if not broken and len(line.text.split()) == 1:
            used.add(index)
            skipped.append(Skipped(what="a line", reason="has no version", location=line.at(path, 0)))
        broken = True
    return used


def read_blocks(path: str, lines: list[PastedLine], packages: list[Package], skipped: list[Skipped]) -> set[int]:
    """Read the blocks of ``pip show``, each from its ``Name:`` to a rule or a line of another form.

    Returns:
        The indices of the lines that belong to a block.
    """
    used: set[int] = set()
    index = 0
    while index < len(lines):
        name = _SHOWN_KEY.fullmatch(lines[index].text)
        if name is None or name[1] != "Name" or not re.fullmatch(_NAME, name[2].strip()):
            index += 1
            continue
        begin = index
        version: tuple[re.Match[str], PastedLine] | None = None
        editable = False
        while index < len(lines) and (pair := _SHOWN_KEY.fullmatch(lines[index].text)):
            if pair[1] == "Name" and index > begin:
                break
            if pair[1] == "Version" and _is_version(pair[2].strip()):
                version = (pair, lines[index])
            editable = editable or pair[1] == "Editable project location"
            index += 1
        if index < len(lines) and lines[index].text.strip() == "---":
            index += 1
        used.update(range(begin, index))
        shown = name[2].strip()
        if version is None:
            at = lines[begin].at(path, name.start(2))
            skipped.append(Skipped(what=quoted(shown, "a package"), reason="has no version", location=at))
            continue
        pair, line = version
        packages.append(
            Package(
                name=normalise(shown),
                version=pair[2].strip(),
                source="editable" if editable else "registry",
                location=line.at(path, pair.start(2)),
            )
        )
    return used


def _is_header(lines: list[PastedLine], index: int) -> bool:
    if not _HEADER.fullmatch(lines[index].text):
        return False
    return index + 1 < len(lines) and _RULE.fullmatch(lines[index + 1].text) is not None


def _is_whole(lines: list[PastedLine], used: set[int]) -> bool:
    headers = [match for index in used if (match := _HEADER.fullmatch(lines[index].text))]
    return len(headers) == 1 and "Latest" not in (headers[0][1] or "")


def _read_bare(path: str, lines: list[PastedLine], packages: list[Package], skipped: list[Skipped]) -> None:
    """Rows without a header, or ``name==version``."""
    for line in lines:
        if not line.text.strip():
            continue
        form, match = next(((form, found) for form in _BARE if (found := form.fullmatch(line.text))), (None, None))
        if match and (form is not _ROW or _is_bare_row(match)):
            packages.append(_package(match, line, path))
        elif not _NOISE.fullmatch(line.text):
            reason = "is not a line of a package list"
            skipped.append(Skipped(what="a line", reason=reason, location=line.at(path, 0)))


def _is_bare_row(match: re.Match[str]) -> bool:
    """Without a header only a version makes a row of a line, and behind it no more than a place may follow."""
    rest = match[3]
    known = rest is None or any(pattern.fullmatch(rest) for pattern in (_PLACE, _INSTALLER, _CONDA_BUILD))
    return known and _is_version(match[2])


def _is_version(text: str) -> bool:
    return len(text) <= _SHOWN and parse_version(text) is not None


def _package(match: re.Match[str], line: PastedLine, path: str) -> Package:
    source = _source(match[3] if match.re.groups > 2 else None)
    return Package(
        name=match[1].lower() if source == "conda" else normalise(match[1]),
        version=match[2],
        source=source,
        build=match[3].split()[0] if source == "conda" and match[3] else None,
        location=line.at(path, match.start(2)),
    )


def _source(rest: str | None) -> SourceKind:
    """What follows the version: the place of an editable; in a list of conda's the build and the channel."""
    if rest is None:
        return "registry"
    first = rest.partition("  ")[0]  # `--verbose` has further columns
    if _PLACE.fullmatch(first):
        return "registry" if _SITE.search(first) else "editable"
    return "conda" if _CONDA_BUILD.fullmatch(rest) and not rest.startswith("pypi_") else "registry"


def _read_json(document: Document) -> Environment:
    entries = parse(document.text.lstrip("\ufeff"), document.path)
    if not isinstance(entries, list):
        raise Malformed("is not an array of packages", path=document.path)
    places = Places(document.text.lstrip("\ufeff"), document.path)
    packages: list[Package] = []
    skipped: list[Skipped] = []
    for index, entry in enumerate(entries):
        problem = _entry_problem(entry)
        if problem is None:
            packages.append(_json_package(entry, index, places))
        else:
            skipped.append(Skipped(what=f"element {index}", reason=problem, location=places.of(index)))
    if entries and not packages:
        raise Malformed("has no element with a name and a version", path=document.path)
    partial = any("latest_version" in entry for entry in entries if isinstance(entry, dict))
    return Environment(
        source=document.path,
        kind="pip-list",
        packages=tuple(packages),
        closed=not partial and not skipped,
        skipped=tuple(skipped),
    )


def _entry_problem(entry: Any) -> str | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"].strip():
        return "has no name"
    return None if isinstance(entry.get("version"), str) else "has no version"


def _json_package(entry: dict[str, Any], index: int, places: Places) -> Package:
    return Package(
        name=normalise(entry["name"].strip()),
        version=entry["version"],
        source="editable" if entry.get("editable_project_location") else "registry",
        location=places.of(index, "version"),
    )
