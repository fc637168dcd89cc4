"""Under which conditions uv installs an entry: the markers of the edges that lead to it, and what leads to these.

The fork markers of an entry do not say which extra chooses it where extras conflict (``cpu`` against ``cuda``): that
stands only at the dependencies on it, with uv's encoded extras in their markers, or at what they are dependencies of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gradcompat.sources.lock_entries import marker_or_none
from gradcompat.sources.uv_choices import Choices, Edge, Node, Section, Targets, edge_of, followed

_Item = tuple[str, str, str]  # the package, "extra", "group" or "project", and the name of the first two


def reached(entries: list[Any], declared: Any, members: Any = None) -> dict[int, tuple[str, ...]]:
    """For each entry with alternatives, and for each that only some choices lead to, when it is installed.

    Args:
        entries: the ``package`` tables.
        declared: the lockfile's ``conflicts``: only extras, groups and projects that stand there exclude one another.
        members: the names of the workspace's projects, where the lockfile has several.

    Returns:
        Markers by the ``id`` of an entry, of which one has to hold; none for one that is there without a condition.
    """
    tables = [entry for entry in entries if isinstance(entry, dict)]
    counts = Counter(entry["name"] for entry in tables if isinstance(entry.get("name"), str))
    forked = {name for name, count in counts.items() if count > 1}
    choices = Choices(conflicts(declared))
    if not forked and not choices.countable:
        return {}
    # What is there once and under no choice needs no edges.
    targets = Targets(tables, None if choices.countable else forked)
    conflicting = set(_conflicting(declared))
    chosen = _chosen(tables, targets, conflicting, members, choices) if choices.countable else {}
    markers: dict[int, dict[str, None]] = {}
    free: set[int] = set()
    for index, entry in enumerate(tables):
        for edge, section in _edges(entry):
            if str(edge.get("name")) not in forked:
                continue
            led_to = targets.of(edge)
            condition = _both(marker_or_none(edge.get("marker")), choices.marker(chosen.get((index, section), 0)))
            # An edge that may lead to any of several entries says of none when it is there.
            if condition is None or len(led_to) > 1:
                free.update(led_to)
            else:
                for target in led_to:
                    markers.setdefault(target, {})[condition] = None
    found = {id(tables[index]): tuple(conditions) for index, conditions in markers.items() if index not in free}
    for index, entry in enumerate(tables):
        marker = choices.marker(chosen.get((index, None), 0))
        if marker is not None and id(entry) not in found and counts[str(entry.get("name"))] == 1:
            found[id(entry)] = (marker,)
    return found


def _chosen(
    tables: list[dict[str, Any]], targets: Targets, conflicting: set[_Item], members: Any, choices: Choices
) -> dict[Node, int]:
    """The choices that lead to each entry, and to each of its extras and groups."""
    edges: dict[Node, list[Edge]] = {}
    for index, entry in enumerate(tables):
        for table, section in _edges(entry):
            edges.setdefault((index, section), []).append(edge_of(table, targets))
    led_to = {target for many in edges.values() for edge in many for target in edge.targets}
    projects = {name for name in members if isinstance(name, str)} if isinstance(members, list) else set()
    projects |= {package for package, _, _ in conflicting}
    roots: dict[Node, int] = {}
    for index, entry in enumerate(tables):
        name = str(entry.get("name"))
        if index in led_to and name not in projects and not _is_here(entry.get("source")):
            continue
        here = choices.having(_encoded(name, "project", ""))
        roots[index, None] = here
        for section in {section for _, section in _edges(entry) if section is not None}:
            roots[index, section] = here & choices.having(_encoded(name, *section))
    return followed(roots, edges, choices)


def _is_here(source: Any) -> bool:
    """Is it the project that the lockfile lies in?"""
    return isinstance(source, dict) and "." in (source.get("virtual"), source.get("editable"), source.get("directory"))


def conflicts(declared: Any) -> tuple[frozenset[str], ...]:
    """The extras and groups that exclude one another, as uv encodes them in markers: ``extra-8-nanochat-cpu``."""
    groups = declared if isinstance(declared, list) else []
    return tuple(frozenset(_encoded(*item) for item in _conflicting([group])) for group in groups)


def _encoded(package: str, kind: str, name: str) -> str:
    return f"{kind}-{len(package)}-{package}-{name}" if name else f"{kind}-{len(package)}-{package}"


def _edges(entry: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Section | None]]:
    """Every dependency of an entry, with the extra or group that asks for it."""
    for edge in _tables(entry.get("dependencies")):
        yield edge, None
    for kind, key in (("extra", "optional-dependencies"), ("group", "dev-dependencies")):
        sections = entry.get(key)
        for section, edges in sections.items() if isinstance(sections, dict) else ():
            for edge in _tables(edges):
                yield edge, (kind, section)


def _conflicting(declared: Any) -> Iterator[_Item]:
    for group in declared if isinstance(declared, list) else ():
        for item in _tables(group):
            kind = next((kind for kind in ("extra", "group") if isinstance(item.get(kind), str)), None)
            if kind is not None:
                yield str(item.get("package")), kind, item[kind]
            elif isinstance(item.get("package"), str):
                yield item["package"], "project", ""


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _both(one: str | None, other: str | None) -> str | None:
    other = f"({other})" if other is not None and one is not None and " or " in other else other
    return f"({one}) and {other}" if one is not None and other is not None else one or other
