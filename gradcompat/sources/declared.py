"""What the readers of requirements in TOML share: lists of requirements with the place of each, and odd entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gradcompat.formats.toml_places import TomlPlaces
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.quotation import quoted
from gradcompat.sources.requirement import parse_requirement
from gradcompat.startup.lazy_dataclasses import dataclass, replace

Result = Package | Skipped


@dataclass(frozen=True, slots=True)
class Declared:
    """A parsed TOML text, its places, and its lines as they are written."""

    content: dict[str, Any]
    places: TomlPlaces
    lines: list[str]

    def table(self, *keys: str) -> dict[str, Any]:
        """The table under these keys; an empty one if there is none."""
        value: Any = self.content
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def no_tables(self, *paths: tuple[str, ...]) -> Iterator[Skipped]:
        """A note for each of these that is there and is no table."""
        for keys in paths:
            holder = self.table(*keys[:-1])
            if keys[-1] in holder and not isinstance(holder[keys[-1]], dict):
                yield Skipped(
                    what=quoted(".".join(keys), "a key"), reason="is not a table", location=self.places.key(*keys)
                )

    def inside(self, location: Location, value: str) -> Location:
        """Where the text in the quotes at that place begins; without a column if escapes make it look otherwise."""
        if location.line is None or location.column is None:
            return location
        line, start = self.lines[location.line - 1], location.column - 1
        for quotes in ('"""', "'''", '"', "'"):
            if line.startswith(quotes + value + quotes, start):
                return replace(location, column=location.column + len(quotes))
        return replace(location, column=None)

    def requirements(self, *keys: str, extra: str | None = None) -> Iterator[Result]:
        """The requirements of a list, if there is one: texts of PEP 508, and behind ``-e`` what is editable."""
        value = self.table(*keys[:-1]).get(keys[-1])
        if value is None:
            return
        if not isinstance(value, list):
            reason = "is not a list of requirements"
            yield Skipped(what=quoted(".".join(keys), "a key"), reason=reason, location=self.places.key(*keys))
            return
        for index, one in enumerate(value):
            location = self.places.of(*keys, index)
            if not isinstance(one, str):
                if not (isinstance(one, dict) and "include-group" in one):  # which is checked by its own reader
                    what = quoted(f"{'.'.join(keys)}[{index}]", "an entry")
                    yield Skipped(what=what, reason="is no requirement", location=location)
                continue
            yield self.requirement(one, location, extra)

    def requirement(self, text: str, location: Location, extra: str | None = None) -> Result:
        """One requirement that stands in quotes at that place."""
        location = self.inside(location, text)
        stripped = text.lstrip()
        editable = stripped.startswith("-e ")
        if editable:
            column = None if location.column is None else location.column + len(text) - len(stripped) + 3
            text, location = stripped[3:], replace(location, column=column)
        result = parse_requirement(text, location, editable=editable)
        return with_extra(result, extra)


def with_extra(result: Result, extra: str | None) -> Result:
    """The result as one that an extra or a group chooses."""
    return replace(result, extras=(extra,)) if isinstance(result, Package) and extra is not None else result


def linked(declared: Declared, package: Package, keys: tuple[str | int, ...], source: dict[str, Any]) -> Package:
    """The package as a table of uv or Poetry (``{git = …, tag = …}``) says where it comes from, if the table does.

    The link may say the version, too: then the pin stands in that table, which is found under ``keys``.
    """
    link = link_of(source)
    if link is None:
        return package
    read = parse_requirement(f"{package.name} @ {link.address}", package.location, editable=link.editable)
    if isinstance(read, Skipped):
        return replace(package, source="url", unreleased=True)
    package = replace(package, source=read.source, unreleased=read.unreleased)
    if package.version is not None or read.version is None:
        return package
    written = source[link.key]
    location = declared.inside(declared.places.of(*keys, link.key), written)
    if location.column is not None:
        location = replace(location, column=location.column + max(written.find(read.version), 0))
    return replace(package, version=read.version, specifier=None, location=location)


class Link(NamedTuple):
    """A link in a table of uv or Poetry: the whole address, and the key whose value may tell the version."""

    address: str
    key: str
    editable: bool = False


def link_of(source: dict[str, Any]) -> Link | None:
    """The link that a table holds; a table with an index, or with options only, holds none."""
    for key in ("git", "url", "path", "file"):
        value = source.get(key)
        if not isinstance(value, str):
            continue
        if key == "git":
            address = value if value.startswith(("git+", "git@")) else f"git+{value}"
            by = next((one for one in ("tag", "rev") if isinstance(source.get(one), str)), None)
            return Link(address, key) if by is None else Link(f"{address}@{source[by]}", by)
        if key in ("path", "file") and "://" not in value and not value.startswith((".", "/")):
            value = f"./{value}"
        return Link(value, key, source.get("editable") is True or source.get("develop") is True)
    return Link("./.", "workspace", True) if source.get("workspace") is True else None
