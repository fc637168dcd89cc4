"""Merging the files of a Hydra composition: a later value wins, mappings are merged, lists are not.

No node of a file is ever changed, and what stands in one file only is not copied, so that aliases stay aliases.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradcompat.errors import TooComplex
from gradcompat.formats import yaml_nodes
from gradcompat.formats.yaml_nodes import Mapping, Node, Scalar, Sequence
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

_DEEPEST = 50
MOST_NODES = 500_000  # that are looked at
_LONGEST_CHAIN = 10  # of references
_REFERENCE = lazy_pattern(r"\$\{(\.*)([A-Za-z_][\w.-]*)\}")


@dataclass(slots=True)
class Merged:
    """The mapping that several files make up.

    Attributes:
        top: the mapping.
        origins: of each node by its identity, the path of its file and the number of the part that it came with.
    """

    top: Mapping
    origins: dict[int, tuple[str, int]] = field(default_factory=dict)
    # Nodes are known by their identity, so that they have to live as long.
    _kept: list[Node] = field(default_factory=list)
    _looked_at: int = 0

    def add(self, content: Mapping, package: str, path: str, part: int) -> None:
        """Merge a file below a package.

        Raises:
            TooComplex: if there is more than anybody writes.
        """
        self._claim(content, path, part)
        entries = {key: node for key, node in content.entries.items() if key != "defaults"}
        node = Mapping(entries, content.line, content.column, content.keys)
        self._claim_one(node, path, part)
        for name in reversed(package.split(".") if package else []):
            node = Mapping({name: node}, content.line, content.column)
            self._claim_one(node, path, part)
        self.top = self._mapping(self.top, node, {}, 0, path)

    def put(self, keys: list[str], node: Node, path: str, part: int) -> None:
        """Set one value, as a command line does."""
        for key in reversed(keys):
            self._claim(node, path, part)
            node = Mapping({key: node}, node.line, node.column)
        if isinstance(node, Mapping):
            self._claim_one(node, path, part)
            self.top = self._mapping(self.top, node, {}, 0, path)

    def remove(self, keys: list[str]) -> None:
        """Take one value out."""
        above: list[Mapping] = [self.top]
        for key in keys[:-1]:
            inner = above[-1].entries.get(key)
            if not isinstance(inner, Mapping):
                return
            above.append(inner)
        node: Mapping | None = None
        for key, mapping in zip(reversed(keys), reversed(above), strict=True):
            entries = {name: one for name, one in mapping.entries.items() if name != key or node is not None}
            if node is not None:
                entries[key] = node
            node = Mapping(entries, mapping.line, mapping.column, mapping.keys)
            self._kept.append(node)
            self.origins[id(node)] = self.origins.get(id(mapping), ("", 0))
        self.top = node or self.top

    def resolved(self, node: Node, keys: tuple[str, ...]) -> tuple[str, Node] | None:
        """What a plain reference (``${steps}``) at those keys stands for, with its own key; None if nobody can tell."""
        for _ in range(_LONGEST_CHAIN):
            match = _REFERENCE.fullmatch(node.text.strip()) if isinstance(node, Scalar) else None
            if match is None:
                return None if isinstance(node, Scalar) and "${" in node.text else (keys[-1], node)
            if match[1]:
                # `.` is the mapping that the reference stands in.
                if len(match[1]) > len(keys):
                    return None
                base = keys[: len(keys) - len(match[1])]
            else:
                base = ()
            keys = (*base, *match[2].split("."))
            found = self._at(keys)
            if found is None:
                return None
            node = found
        return None

    def _at(self, keys: Iterable[str]) -> Node | None:
        found: Node | None = self.top
        for key in keys:
            found = found.entries.get(key) if isinstance(found, Mapping) else None
        return found

    def _meant(self, node: Node | None) -> Node | None:
        """The mapping that a reference stands for, into which another mapping is merged."""
        match = _REFERENCE.fullmatch(node.text) if isinstance(node, Scalar) else None
        found = self._at(match[2].split(".")) if match is not None and not match[1] else None
        return found if isinstance(found, Mapping) else node

    def _mapping(
        self, old: Mapping, new: Mapping, done: dict[tuple[int, int], Mapping], depth: int, path: str
    ) -> Mapping:
        self._count(MOST_NODES if depth > _DEEPEST else len(new.entries), path)
        known = done.get((id(old), id(new)))
        if known is not None:
            return known
        merged = Mapping(dict(old.entries), new.line, new.column, {**old.keys, **new.keys})
        done[id(old), id(new)] = merged
        if old is self.top:
            self.top = merged  # references see what has been merged already
        self._kept += [merged, old, new]
        self.origins[id(merged)] = self.origins.get(id(new), (path, 0))
        for key, node in new.entries.items():
            before = old.entries.get(key)
            if isinstance(node, Mapping):
                before = self._meant(before)
            if isinstance(before, Mapping) and isinstance(node, Mapping):
                merged.entries[key] = self._mapping(before, node, done, depth + 1, path)
            elif before is None or not (isinstance(node, Scalar) and node.text == "???"):
                # What is still to be given takes nothing back.
                merged.entries[key] = node
        return merged

    def _claim(self, node: Node, path: str, part: int) -> None:
        """Note where a node and everything below it comes from."""
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if self.origins.get(id(one)) == (path, part):
                continue
            self._claim_one(one, path, part)
            if isinstance(one, Mapping):
                waiting.extend(one.entries.values())
            elif isinstance(one, Sequence):
                waiting.extend(one.items)

    def _count(self, nodes: int, path: str) -> None:
        self._looked_at += 1 + nodes
        if self._looked_at > MOST_NODES:
            raise TooComplex("expands to more than any config holds", path=path, line=1)

    def _claim_one(self, node: Node, path: str, part: int) -> None:
        self._count(0, path)
        self._kept.append(node)
        self.origins[id(node)] = (path, part)


def nothing() -> Merged:
    """What there is before the first file."""
    return Merged(yaml_nodes.Mapping({}, 1, 1))
