"""The indexes that uv would use: its variables of the environment, and the files that ``uv_files`` finds.

Variables stand before files. Lists of several files are joined, strongest first; of other values the first counts.
What surprises: a default index is asked last wherever it stands; of several, or of indexes with one name, the first
counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gradcompat.index.settings import Origin, Places, Settings, StatedIndex, Strategy, index_url
from gradcompat.index.timestamps import moment
from gradcompat.index.uv_files import Table, find_files
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import dataclass, replace

_STRATEGIES: Mapping[str, Strategy] = {
    "first-index": "first",
    "unsafe-first-match": "all",
    "unsafe-best-match": "all",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UvSettings:
    """What uv would use, and whether the project is one of uv's: it has a uv.lock, a uv.toml or ``[tool.uv]``."""

    settings: Settings
    of_project: bool


def uv_settings(start: Path, places: Places, now: datetime) -> UvSettings:
    """What uv would use in a folder.

    Raises:
        UsageError: if a file or a value makes no sense.
    """
    notes: list[str] = []
    files = find_files(start.absolute(), places, notes)
    environ = places.environ
    indexes = [*_variables(environ, start), *_stated(files.settings)]
    tied = _tied(files.projects)
    wanted = {name for names in tied.values() for name in names}
    known = {index.name for index in indexes}
    for index in _stated(files.projects):  # a uv.toml hides them, and sources may still name them
        if index.name in wanted - known:
            indexes.append(replace(index, default=False, explicit=True))
    for table in files.settings:
        if table.values.get("exclude-newer-package"):
            notes.append(f"{table.origin('exclude-newer-package')}: `exclude-newer-package` is not taken into account")
    strategy = _first(environ, "UV_INDEX_STRATEGY", files.settings, "index-strategy")
    keyring = _first(environ, "UV_KEYRING_PROVIDER", files.settings, "keyring-provider")
    settings = Settings(
        indexes=tuple(_one_of_each_name(indexes)),
        find_links=(
            *_listed(environ, "UV_FIND_LINKS", start, separator=","),
            *_urls(files.settings, "find-links"),
        ),
        no_index=_no_index(files.settings),
        strategy=_strategy(strategy),
        exclude_newer=_moment(_first(environ, "UV_EXCLUDE_NEWER", files.settings, "exclude-newer"), now),
        keyring=keyring is not None and keyring[0] == "subprocess",
        tied=tied,
        notes=tuple(notes),
    )
    return UvSettings(settings=settings, of_project=files.of_project)


def _variables(environ: Mapping[str, str], start: Path) -> Iterator[StatedIndex]:
    yield from _listed(environ, "UV_DEFAULT_INDEX", start, default=True)
    yield from _listed(environ, "UV_INDEX", start, separator=None)
    yield from _listed(environ, "UV_EXTRA_INDEX_URL", start, separator=None)
    yield from _listed(environ, "UV_INDEX_URL", start, default=True)


def _listed(
    environ: Mapping[str, str], variable: str, start: Path, *, separator: str | None = "\n", default: bool = False
) -> Iterator[StatedIndex]:
    """The indexes of one variable, each of which may be ``name=address``."""
    origin = Origin(name=variable)
    for text in environ.get(variable, "").split(separator):
        if text.strip():
            name, equals, address = text.strip().partition("=")
            if not equals or not _is_name(name) or variable not in ("UV_INDEX", "UV_DEFAULT_INDEX"):
                name, address = "", text
            yield StatedIndex(
                url=index_url(address, origin, start.absolute()), origin=origin, name=name or None, default=default
            )


def _is_name(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").replace(".", "").isalnum()


def _stated(tables: Sequence[Table]) -> Iterator[StatedIndex]:
    """The indexes of the files in the order in which uv joins them."""
    for table in tables:
        rows = table.values.get("index", [])
        if not isinstance(rows, list):
            raise table.origin("index").error("`index` is not a list of tables")
        for number, row in enumerate(rows):
            yield _row(table, number, row)
    yield from _urls(tables, "extra-index-url")
    for table in tables:
        url = table.values.get("index-url")
        if url is not None:
            origin = table.origin("index-url")
            yield StatedIndex(
                url=index_url(_text(url, origin, "index-url"), origin, table.folder),
                origin=origin,
                default=True,
                project=_project(table),
            )


def _row(table: Table, number: int, row: Any) -> StatedIndex:
    origin = table.origin("index", number)
    if not isinstance(row, dict):
        raise origin.error("`index` is not a list of tables")
    name = row.get("name")
    if name is not None and not _is_name(_text(name, origin, "name")):
        raise origin.error(f"`{name}` is not a valid index name: letters, digits, `-`, `_` and `.` are allowed")
    for key in ("default", "explicit"):
        if not isinstance(row.get(key, False), bool):
            raise origin.error(f"`{key}` is neither true nor false")
    at = table.origin("index", number, "url")
    return StatedIndex(
        url=index_url(_text(row.get("url"), at, "url"), at, table.folder),
        origin=at,
        name=name,
        default=row.get("default", False),
        explicit=row.get("explicit", False),
        project=_project(table),
    )


def _project(table: Table) -> Path | None:
    return table.folder if table.of_project else None


def _urls(tables: Sequence[Table], key: str) -> Iterator[StatedIndex]:
    for table in tables:
        values = table.values.get(key, [])
        if not isinstance(values, list):
            raise table.origin(key).error(f"`{key}` is not a list")
        for number, value in enumerate(values):
            origin = table.origin(key, number)
            url = index_url(_text(value, origin, key), origin, table.folder)
            yield StatedIndex(url=url, origin=origin, project=_project(table))


def _text(value: Any, origin: Origin, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise origin.error(f"`{key}` is not a text")
    return value


def _one_of_each_name(indexes: Sequence[StatedIndex]) -> Iterator[StatedIndex]:
    named: set[str] = set()
    for index in indexes:
        if index.name is None or index.name not in named:
            yield index
        if index.name is not None:
            named.add(index.name)


def _tied(projects: Sequence[Table]) -> Mapping[str, tuple[str, ...]]:
    """What ``[tool.uv.sources]`` say; those of the nearest project count first. Markers are not looked at."""
    tied: dict[str, tuple[str, ...]] = {}
    declared = {index.name for index in _stated(projects)}
    for table in projects:
        sources = table.values.get("sources", {})
        if not isinstance(sources, dict):
            raise table.origin("sources").error("`sources` is not a table")
        for package, value in sources.items():
            rows = value if isinstance(value, list) else [value]
            names = [row["index"] for row in rows if isinstance(row, dict) and isinstance(row.get("index"), str)]
            for name in names:
                if name not in declared:
                    raise table.origin("sources", package).error(
                        f"`{package}` names the index `{name}`, which is not declared"
                    )
            if names:
                tied.setdefault(normalise(package), tuple(dict.fromkeys(names)))
    return tied


def _first(environ: Mapping[str, str], variable: str, tables: Sequence[Table], key: str) -> tuple[str, Origin] | None:
    """What counts of a setting that has one value."""
    if environ.get(variable, "").strip():
        return environ[variable].strip(), Origin(name=variable)
    for table in tables:
        if key in table.values:
            origin = table.origin(key)
            return _text(table.values[key], origin, key), origin
    return None


def _no_index(tables: Sequence[Table]) -> Origin | None:
    for table in tables:
        value = table.values.get("no-index")
        if value is not None:
            if not isinstance(value, bool):
                raise table.origin("no-index").error("`no-index` is neither true nor false")
            return table.origin("no-index") if value else None
    return None


def _strategy(stated: tuple[str, Origin] | None) -> Strategy:
    if stated is None:
        return "first"
    value, origin = stated
    if value not in _STRATEGIES:
        known = ", ".join(f"`{name}`" for name in _STRATEGIES)
        raise origin.error(f"`{value}` is not an index strategy", hint=f"it is one of {known}")
    return _STRATEGIES[value]


def _moment(stated: tuple[str, Origin] | None, now: datetime) -> tuple[str, Origin] | None:
    if stated is None:
        return None
    value, origin = stated
    found = moment(value, now, whole_day=True)
    if found is None:
        raise origin.error(f"`{value}` is not a point in time", hint="write `2026-11-20T00:00:00Z`, or `7 days`")
    return found, origin
