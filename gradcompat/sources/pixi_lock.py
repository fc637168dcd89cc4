"""``pixi.lock``, versions 4 to 7: conda and PyPI packages for several environments on several platforms.

``packages`` lists each archive once, and each environment selects from it by address for each of its platforms. These
selections (``default/linux-64``) are the forks: one file may hold three versions of transformers that never meet. What
is a field in one version stands only in the address in another: of a conda package since version 6 name and version.
"""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import unquote

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.yaml_nodes import Mapping, Node, Scalar, Sequence
from gradcompat.formats.yaml_text import parse_mapping
from gradcompat.model.environment import Environment, Location, Package, Skipped, SourceKind
from gradcompat.quotation import quoted
from gradcompat.quotation import reference as quoted_reference
from gradcompat.requirements.names import normalise
from gradcompat.sources.conda_spec import parse_archive, platform_of
from gradcompat.sources.requirement import parse_requirement, version_of_tag
from gradcompat.startup.lazy_patterns import lazy_pattern

SUPPORTED = range(4, 8)

_MAX_SELECTED = 1_000_000  # aliases make a short file select as much as it likes
_UNREADABLE = ("", "a line that is neither a conda nor a PyPI package")
_KINDS = ("conda", "pypi", "conda_source")
# `name[1a2b3c4d] @ git+https://host/repository?tag=v1#commit`, or a path, as version 7 names what is built from source.
_CONDA_SOURCE = lazy_pattern(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*(?:\[[^\[\]]*\])?\s*@\s*(.*)", re.DOTALL)
_REFERENCE = lazy_pattern(r"[?&](?:tag|rev)=([^&#]+)")


def read(document: Document) -> Environment:
    """Read a pixi lockfile.

    Raises:
        Malformed: if it is not YAML or has no packages where pixi puts them.
        UnsupportedFormatVersion: if pixi wrote a version that is not known here.
    """
    top = parse_mapping(document.text, document.path)
    version = top.entries.get("version")
    number = version.value if isinstance(version, Scalar) else None
    if version is None or not isinstance(number, int) or isinstance(number, bool):
        raise Malformed("has no `version: 6` at its top as pixi.lock has", path=document.path)
    if number not in SUPPORTED:
        raise UnsupportedFormatVersion(
            f"lockfile version {quoted(str(number), '…')} is not supported",
            path=document.path,
            line=version.line,
            hint="gradcompat reads versions 4 to 7; `pixi lock` writes a current one",
        )
    entries = top.entries.get("packages")
    if entries is None or "environments" not in top.entries:
        raise Malformed("has no `environments:` and `packages:` as pixi.lock has", path=document.path)
    if isinstance(entries, Scalar) and entries.value is None:
        entries = Sequence([], entries.line, entries.column)
    if not isinstance(entries, Sequence):
        raise Malformed("`packages` is not a list", path=document.path, line=entries.line)
    subdirs = _subdirs(top.entries.get("platforms"))
    skipped: list[Skipped] = []
    selected, platforms = _selections(top.entries["environments"], subdirs, document.path, skipped)
    packages: list[Package] = []
    listed: set[tuple[str, str]] = set()
    for index, entry in enumerate(entries.items):
        listed.update(_keys(entry))
        found = _package(entry, index, selected, document.path)
        if isinstance(found, Package):
            packages.append(found)
        else:
            skipped.append(found)
    missing = [address for kind, address in selected if (kind, address) not in listed]
    if missing:
        reason = f"of {len(missing)} packages that environments select and `packages` does not list"
        skipped.append(
            Skipped(
                what=missing[0] if missing[0] == _UNREADABLE[1] else quoted_reference(missing[0], "a package"),
                reason=f"is the first {reason}",
                location=Location(path=document.path),
            )
        )
    pythons = {package.version for package in packages if package.name == "python" and package.source == "conda"}
    return Environment(
        source=document.path,
        kind="pixi.lock",
        packages=tuple(packages),
        closed=not any(note.gap for note in skipped),
        skipped=tuple(skipped),
        python=pythons.pop() if len(pythons) == 1 else None,
        platform=platform_of(platforms),
    )


def _subdirs(platforms: Node | None) -> dict[str, str]:
    """Version 7 gives platforms names of their own, ``p1`` for linux-64 with a certain glibc."""
    subdirs: dict[str, str] = {}
    for platform in platforms.items if isinstance(platforms, Sequence) else ():
        name = platform.text("name") if isinstance(platform, Mapping) else None
        if name is not None and isinstance(platform, Mapping):
            subdirs[name] = platform.text("subdir") or name
    return subdirs


def _selections(
    environments: Node, subdirs: dict[str, str], path: str, skipped: list[Skipped]
) -> tuple[dict[tuple[str, str], tuple[str, ...]], set[str]]:
    """For each kind and address the environments that select it, and the platforms of all of them."""
    if not isinstance(environments, Mapping):
        raise Malformed("`environments` is not a mapping", path=path, line=environments.line)
    selected: dict[tuple[str, str], list[str]] = {}
    platforms: set[str] = set()
    shared = {subdir for subdir, names in Counter(subdirs.values()).items() if names > 1}
    count = 0
    for environment, node in environments.entries.items():
        by_platform = node.entries.get("packages") if isinstance(node, Mapping) else None
        if not isinstance(by_platform, Mapping):
            location = Location(path=path, line=environments.keys[environment].line)
            skipped.append(
                Skipped(
                    what=f"environment {quoted(environment, 'with an invalid name')}",
                    reason="selects no packages",
                    location=location,
                )
            )
            continue
        for platform, references in by_platform.entries.items():
            subdir = subdirs.get(platform, platform)
            platforms.add(subdir)
            count += 1
            fork = f"{environment}/{platform if subdir in shared else subdir}"
            for reference in references.items if isinstance(references, Sequence) else ():
                count += 1
                if count > _MAX_SELECTED:
                    raise Malformed(f"selects more than {_MAX_SELECTED:,} packages", path=path, line=reference.line)
                for key in _keys(reference) or [_UNREADABLE]:
                    forks = selected.setdefault(key, [])
                    if not forks or forks[-1] != fork:
                        forks.append(fork)
    return {key: tuple(forks) for key, forks in selected.items()}, platforms


def _keys(node: Node) -> list[tuple[str, str]]:
    """The kind and the address of a package, as an environment and as the list of packages give it."""
    if not isinstance(node, Mapping):
        return []
    kind = node.text("kind")  # versions 4 and 5, in the list
    if kind is not None:
        address = node.text("url") or node.text("path")
        return [(kind, address)] if address is not None else []
    return [(kind, address) for kind in _KINDS if (address := node.text(kind)) is not None]


def _package(entry: Node, index: int, selected: dict[tuple[str, str], tuple[str, ...]], path: str) -> Package | Skipped:
    location = Location(path=path, line=entry.line, column=entry.column)
    what = f"`packages[{index}]`"
    keys = _keys(entry)
    if not isinstance(entry, Mapping) or not keys:
        return Skipped(what=what, reason="is neither a conda nor a PyPI package", location=location)
    kind, address = keys[0]
    forks = selected.get((kind, address), ())
    at: int | None
    name, version, at = _named(entry, kind, address)
    if name is None:
        return Skipped(what=what, reason="has no name", location=location)
    if entry.duplicates:
        reason = f"has `{quoted(entry.duplicates[0].text, '…')}` twice"
        return Skipped(what=f"{what}, {quoted(name, 'an invalid name')},", reason=reason, location=location)
    place = entry.entries.get("version") if entry.text("version") is not None else None
    if place is None:
        # The address; where there is none of a release, it is at least the line of the package.
        place = next((entry.entries[key] for key in (kind, "url", "path") if key in entry.entries), entry)
    else:
        at = None
    column = place.column_of(at) if isinstance(place, Scalar) and at is not None else place.column
    source, unreleased = _source(entry, kind, address, version)
    archive = parse_archive(address) if kind == "conda" else None
    return Package(
        name=normalise(name) if kind == "pypi" else name.lower(),
        version=version,
        source=source,
        forks=forks,
        unreleased=unreleased,
        build=entry.text("build") or (archive.build if archive is not None else None) if kind == "conda" else None,
        location=Location(path=path, line=place.line, column=column),
    )


def _named(entry: Mapping, kind: str, address: str) -> tuple[str | None, str | None, int]:
    """Name and version, from the fields or else from the address, and where in the address the version stands."""
    name, version = entry.text("name"), entry.text("version")
    if kind == "conda":
        archive = parse_archive(address)
        if archive is not None:
            return name or archive.name, version or archive.version, archive.offset
    elif kind == "conda_source":
        match = _CONDA_SOURCE.fullmatch(address)
        name = name or (match[1] if match else None)
    elif name is None or version is None:
        link = address.removeprefix("direct+")
        found = parse_requirement(link, Location(path="", line=1, column=1)) if "/" in link else None
        if isinstance(found, Package):
            version = version or found.version
            name = name or found.name
    at = address.find(version.replace("+", "%2B")) if version is not None else 0
    return name, version, max(at, 0)


def _source(entry: Mapping, kind: str, address: str, version: str | None) -> tuple[SourceKind, bool]:
    """Where the package comes from, and whether that is a checkout of no known release."""
    link = address
    if kind == "conda_source":
        match = _CONDA_SOURCE.fullmatch(address)
        link = match[2] if match else address
    repository = link.startswith(("git+", "git://"))
    if repository:
        reference = _REFERENCE.search(link)
        tag = version_of_tag(unquote(reference[1])) if reference else None
        unreleased = tag is None or tag != version
    else:
        unreleased = False
    if kind != "pypi":
        return "conda", unreleased or kind == "conda_source"
    if repository:
        return "git", unreleased
    if link.startswith("direct+"):
        return "url", False
    if "://" not in link or link.startswith("file:"):
        return "editable" if entry.text("editable") == "true" else "path", False
    return "registry", False
