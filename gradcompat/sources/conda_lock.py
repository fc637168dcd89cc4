"""``conda-lock.yml``, version 1: one entry for each package and platform, of conda and of pip.

The platforms are the forks: entries of different ones are never installed together. A name may be there from conda and
from pip, and then both are listed.
"""

from __future__ import annotations

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.yaml_nodes import Mapping, Node, Scalar, Sequence
from gradcompat.formats.yaml_text import parse_mapping
from gradcompat.model.environment import Environment, Location, Package, Skipped, SourceKind
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.sources.conda_spec import parse_archive, platform_of
from gradcompat.sources.requirement import parse_requirement

_DEFAULT_CATEGORY = "main"


def read(document: Document) -> Environment:
    """Read a lockfile of conda-lock.

    Raises:
        Malformed: if it is not YAML or has no packages where conda-lock puts them.
        UnsupportedFormatVersion: if conda-lock wrote a version that is not known here.
    """
    top = parse_mapping(document.text, document.path)
    entries = top.entries.get("package")
    if entries is None or not isinstance(top.entries.get("metadata"), Mapping):
        raise Malformed("has no `package:` and `metadata:` as a conda-lock.yml has", path=document.path)
    version = top.entries.get("version")
    if version is not None and not (isinstance(version, Scalar) and version.value == 1):
        raise UnsupportedFormatVersion(
            f"lockfile version {quoted(version.text, '…') if isinstance(version, Scalar) else '?'} is not supported",
            path=document.path,
            line=version.line,
            hint="gradcompat reads version 1",
        )
    if isinstance(entries, Scalar) and entries.value is None:
        entries = Sequence([], entries.line, entries.column)
    if not isinstance(entries, Sequence):
        raise Malformed("`package` is not a list", path=document.path, line=entries.line)
    packages: list[Package] = []
    skipped: list[Skipped] = []
    for index, entry in enumerate(entries.items):
        read_entry = _package(entry, index, document.path)
        if isinstance(read_entry, Package):
            packages.append(read_entry)
        else:
            skipped.append(read_entry)
    if skipped and not packages:
        raise Malformed(f"{skipped[0].what} {skipped[0].reason}", path=document.path, line=_line(skipped[0]))
    pythons = {package.version for package in packages if package.name == "python" and package.source == "conda"}
    return Environment(
        source=document.path,
        kind="conda-lock",
        packages=tuple(packages),
        closed=not any(note.gap for note in skipped),
        skipped=tuple(skipped),
        python=pythons.pop() if len(pythons) == 1 else None,
        platform=platform_of({fork for package in packages for fork in package.forks}),
    )


def _line(skipped: Skipped) -> int | None:
    return skipped.location.line if skipped.location is not None else None


def _package(entry: Node, index: int, path: str) -> Package | Skipped:
    location = Location(path=path, line=entry.line, column=entry.column)
    what = f"`package[{index}]`"
    if not isinstance(entry, Mapping):
        return Skipped(what=what, reason="is not a mapping", location=location)
    name = entry.text("name")
    if not name:
        return Skipped(what=what, reason="has no name", location=location)
    if entry.duplicates:
        reason = f"has `{quoted(entry.duplicates[0].text, '…')}` twice"
        return Skipped(what=f"{what}, {quoted(name, 'an invalid name')},", reason=reason, location=location)
    manager = entry.text("manager")
    if manager not in ("conda", "pip"):
        reason = f"is for `{quoted(manager or '', '…')}`, which is neither conda nor pip"
        return Skipped(what=f"{what}, {quoted(name, 'an invalid name')},", reason=reason, location=location)
    url = entry.text("url") or ""
    version = entry.text("version")
    place = entry.entries.get("version") or entry.entries["name"]
    platform = entry.text("platform")
    category = entry.text("category")
    source: SourceKind = "conda"
    unreleased = False
    if manager == "pip":
        source, unreleased = _pip_source(url, version)
    archive = parse_archive(url) if manager == "conda" else None
    if version is None and archive is not None:
        version = archive.version
    return Package(
        name=name.lower() if manager == "conda" else normalise(name),
        version=version,
        source=source,
        forks=(platform,) if platform else (),
        extras=(category,) if category and category != _DEFAULT_CATEGORY else (),
        unreleased=unreleased,
        build=archive.build if archive is not None else None,
        location=Location(path=path, line=place.line, column=place.column),
    )


def _pip_source(url: str, version: str | None) -> tuple[SourceKind, bool]:
    """Most of pip's packages come from an index; a repository is one only where its tag is the version."""
    if not url.startswith(("git+", "hg+", "svn+", "bzr+", "file:")):
        return "registry", False
    found = parse_requirement(url, Location(path=""))
    if not isinstance(found, Package):
        return "url", True
    return found.source, found.unreleased or found.version != version
