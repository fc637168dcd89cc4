"""Which conflicting extras, groups and projects lead to each entry of a uv.lock, along all of its edges.

An edge says only what it needs itself: torchvision of the group ``rocm`` depends on its torch without a condition, and
nobody who has not chosen ``rocm`` gets there. So what is chosen is followed from the members of the workspace on. A
choice is none of what conflicts, one, or two that may be chosen together; a set of choices is an integer with a bit
for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from gradcompat.requirements.markers import Atom, evaluated, excludes, parse_marker

# Of more of them no project has been seen, and each pair of them is a choice.
_MOST = 32

_NOTHING = 1  # the choice of none of them

Section = tuple[str, str]  # ("extra", "cuda") or ("group", "dev")
Node = tuple[int, Section | None]  # an entry, or what one of its extras or groups adds to it


class Edge(NamedTuple):
    """A dependency: the entries that it may lead to, the extras that it asks for, and its marker."""

    targets: tuple[int, ...]
    extras: tuple[str, ...]
    marker: str | None


class Choices:
    """The choices that a lockfile leaves, by their encoded names (``group-4-demo-cuda``).

    Args:
        conflicts: sets of encoded names of which no two are chosen together.
    """

    def __init__(self, conflicts: Iterable[frozenset[str]]) -> None:
        sets = tuple(conflicts)
        names = sorted(set().union(*sets))
        pairs = [pair for pair in combinations(names, 2) if not any(set(pair) <= one for one in sets)]
        self._chosen: tuple[frozenset[str], ...] = (
            frozenset(),
            *(frozenset({name}) for name in names),
            *(frozenset(pair) for pair in pairs),
        )
        self.names = tuple(names)
        self.every = (1 << len(self._chosen)) - 1
        self._held: dict[str, int] = {}

    @property
    def countable(self) -> bool:
        """Are there some, and not more than can be looked at one by one?"""
        return 0 < len(self.names) <= _MOST

    def having(self, name: str) -> int:
        """The choices with that name among what is chosen; all of them for a name that conflicts with nothing."""
        if name not in self.names:
            return self.every
        return sum(1 << index for index, chosen in enumerate(self._chosen) if name in chosen)

    def holding(self, marker: str | None) -> int:
        """The choices under which a marker holds somewhere; every one where it cannot be read."""
        if marker is None:
            return self.every
        if marker not in self._held:
            parsed = parse_marker(marker)
            held = None if parsed is None else evaluated(parsed, self._atom)
            self._held[marker] = self.every if held is None else held
        return self._held[marker]

    def _atom(self, atom: Atom) -> int | None:
        if atom.variable != "extra" or not excludes(atom.value) or atom.operator not in ("==", "!="):
            return self.every
        having = self.having(atom.value) if atom.value in self.names else 0
        return having if atom.operator == "==" else self.every & ~having

    def marker(self, choices: int) -> str | None:
        """The marker that holds under these choices alone; None for all of them, and for none, which says nothing."""
        if choices in (0, self.every):
            return None
        held = [chosen for index, chosen in enumerate(self._chosen) if choices >> index & 1]
        if not choices & _NOTHING:
            least = [chosen for chosen in held if len(chosen) == 1 or not any({name} in held for name in chosen)]
            return " or ".join(_all_of(sorted(chosen)) for chosen in least)
        without = [name for name in self.names if frozenset({name}) not in held]
        parts = [" and ".join(f"extra != '{name}'" for name in without)] if without else []
        parts += [_all_of(sorted(chosen)) for chosen in held if len(chosen) == 2 and not chosen.isdisjoint(without)]
        return " or ".join(f"({part})" for part in parts) or None


def _all_of(names: list[str]) -> str:
    return " and ".join(f"extra == '{name}'" for name in names)


def followed(roots: Mapping[Node, int], edges: Mapping[Node, list[Edge]], choices: Choices) -> dict[Node, int]:
    """The choices that lead to each node, from those under which the roots are there."""
    reached = dict(roots)
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        for edge in edges.get(node, ()):
            there = reached[node] & choices.holding(edge.marker)
            for target in _nodes(edge):
                if there & ~reached.get(target, 0):
                    reached[target] = reached.get(target, 0) | there
                    waiting.append(target)
    return reached


def _nodes(edge: Edge) -> Iterator[Node]:
    for target in edge.targets:
        yield target, None
        for extra in edge.extras:
            yield target, ("extra", extra)


class Targets:
    """The entries that an edge may lead to.

    Several may have the same name and version, each from an index of its own (a wheel for CUDA, one for ROCm): an edge
    names the source of one of them.

    Args:
        tables: the entries.
        wanted: the names of those that are asked for; None for all.
    """

    def __init__(self, tables: Iterable[dict[str, Any]], wanted: Collection[str] | None = None) -> None:
        self._found: dict[tuple[str, ...], tuple[int, ...]] = {}
        for index, table in enumerate(tables):
            if wanted is not None and str(table.get("name")) not in wanted:
                continue
            for key in _keys(table):
                self._found[key] = (*self._found.get(key, ()), index)

    def of(self, edge: dict[str, Any]) -> tuple[int, ...]:
        """The entries that the most of what an edge says leads to."""
        return next((self._found[key] for key in reversed(_keys(edge)) if key in self._found), ())


def _keys(table: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    """By what an entry or an edge is known, the most exact last."""
    name, version, source = str(table.get("name")), table.get("version"), table.get("source")
    if not isinstance(version, str):
        return ((name,),)
    if not isinstance(source, dict):
        return (name,), (name, version)
    return (name,), (name, version), (name, version, *(f"{key}={value}" for key, value in sorted(source.items())))


def edge_of(table: dict[str, Any], targets: Targets) -> Edge:
    """The edge that one of the tables of ``dependencies`` is."""
    marker, extras = table.get("marker"), table.get("extra")
    return Edge(
        targets.of(table),
        tuple(extra for extra in extras if isinstance(extra, str)) if isinstance(extras, list) else (),
        marker if isinstance(marker, str) else None,
    )
