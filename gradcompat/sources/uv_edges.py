"""Under which conditions uv installs the alternatives of a package: the markers of the edges that lead to them.

The fork markers of an entry do not say which extra chooses it where extras conflict (``cpu`` against ``cuda``): that
stands only at the dependencies on it, with uv's encoded extras in their markers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gradcompat.sources.lock_entries import text_or_none

_Key = tuple[str, str | None]


def reached(entries: list[Any], declared: Any) -> dict[_Key, tuple[str, ...]]:
    """For each name and version of a package that stands several times, the conditions of which one has to hold.

    Args:
        entries: the ``package`` tables.
        declared: the lockfile's ``conflicts``: only extras and groups that stand there exclude one another.

    Returns:
        Markers by name and version; none for an entry that some package depends on without a condition.
    """
    tables = [entry for entry in entries if isinstance(entry, dict)]
    counts = Counter(entry["name"] for entry in tables if isinstance(entry.get("name"), str))
    forked = {name for name, count in counts.items() if count > 1}
    if not forked:
        return {}
    conflicting = set(_conflicting(declared))
    markers: dict[_Key, dict[str, None]] = {}
    free: set[_Key] = set()
    for entry in tables:
        for edge, chosen_by in _edges(entry, conflicting):
            name, version = edge.get("name"), edge.get("version")
            if not isinstance(name, str) or name not in forked:
                continue
            key = (name, version if isinstance(version, str) else None)
            condition = _both(text_or_none(edge.get("marker")), chosen_by)
            if condition is None:
                free.add(key)
            else:
                markers.setdefault(key, {})[condition] = None
    # An edge without a version may lead to any entry of the name.
    unsettled = {name for name, version in (*free, *markers) if version is None}
    return {
        key: tuple(conditions) for key, conditions in markers.items() if key not in free and key[0] not in unsettled
    }


def conflicts(declared: Any) -> tuple[frozenset[str], ...]:
    """The extras and groups that exclude one another, as uv encodes them in markers: ``extra-8-nanochat-cpu``."""
    groups = declared if isinstance(declared, list) else []
    return tuple(frozenset(_encoded(*item) for item in _conflicting([group])) for group in groups)


def _encoded(package: str, kind: str, name: str) -> str:
    return f"{kind}-{len(package)}-{package}-{name}"


def _edges(
    entry: dict[str, Any], conflicting: set[tuple[str, str, str]]
) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Every dependency of an entry, with the extra or group that asks for it if that is one of those that conflict."""
    for edge in _tables(entry.get("dependencies")):
        yield edge, None
    name = entry.get("name")
    for kind, key in (("extra", "optional-dependencies"), ("group", "dev-dependencies")):
        sections = entry.get(key)
        for section, edges in sections.items() if isinstance(sections, dict) else ():
            encoded = f"extra == '{_encoded(str(name), kind, section)}'"
            for edge in _tables(edges):
                yield edge, encoded if (str(name), kind, section) in conflicting else None


def _conflicting(declared: Any) -> Iterator[tuple[str, str, str]]:
    for group in declared if isinstance(declared, list) else ():
        for item in _tables(group):
            for kind in ("extra", "group"):
                if isinstance(item.get(kind), str):
                    yield str(item.get("package")), kind, item[kind]


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _both(one: str | None, other: str | None) -> str | None:
    return f"({one}) and {other}" if one is not None and other is not None else one or other
