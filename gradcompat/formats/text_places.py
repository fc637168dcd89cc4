"""Where the values of a structured text (JSON, TOML) stand, once a pass over its tokens has found their offsets."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left

from gradcompat.model.environment import Location


class Container:
    """An object or an array: where it starts, where its keys and elements are, and the containers among them.

    Scalars are kept as bare offsets, so that a file of millions of values costs no more here than its content does.
    """

    __slots__ = ("elements", "inner", "keys", "start", "values")

    def __init__(self, start: int) -> None:
        self.start = start
        self.keys: dict[str, int] = {}
        self.values: dict[str, int] = {}
        self.elements: array[int] = array("q")
        self.inner: dict[str | int, Container] = {}

    def put(self, key: str, key_start: int, value_start: int) -> None:
        """A value under a key; of a key that stands twice the last one counts."""
        self.keys[key] = key_start
        self.values[key] = value_start
        self.inner.pop(key, None)


class TextPlaces:
    """Offsets as lines and columns.

    Args:
        text: the whole text, for its line ends.
        path: how the text is called in a location.
        root: the outermost container.
    """

    def __init__(self, text: str, path: str, root: Container) -> None:
        self._path = path
        self._root = root
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def of(self, *keys: str | int) -> Location:
        """The place of a value: ``of("packages", 3, "version")``; if it is not there, of what would hold it."""
        return self._location(self._find(keys, key=False))

    def key(self, *keys: str | int) -> Location:
        """The place of the key itself: ``key("default", "torch")``; of an element, the place of the element."""
        return self._location(self._find(keys, key=True))

    def _find(self, keys: tuple[str | int, ...], *, key: bool) -> int:
        container: Container | None = self._root
        position = self._root.start
        for depth, step in enumerate(keys, start=1):
            if container is None:
                return position
            container = self._members(container)
            if isinstance(step, str):
                if step not in container.keys:
                    return position
                of_key = key and depth == len(keys)
                position = container.keys[step] if of_key else container.values[step]
            elif 0 <= step < len(container.elements):
                position = container.elements[step]
            else:
                return position
            container = container.inner.get(step)
        return position

    def _members(self, container: Container) -> Container:
        """The container, now that its members are asked for."""
        return container

    def _location(self, position: int) -> Location:
        line = bisect_left(self._ends, position)
        start = self._ends[line - 1] + 1 if line else 0
        return Location(path=self._path, line=line + 1, column=position - start + 1)
