"""Regular expressions that are compiled when they are first used: a check of a small file knows 150 and needs 50."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as lazy_pattern
else:

    class lazy_pattern:  # noqa: N801  # takes the place of a function
        """What :func:`re.compile` takes; it has the methods of a :class:`re.Pattern`."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self._pattern, self._flags = pattern, flags

        def __getattr__(self, name: str) -> Any:
            found = getattr(re.compile(self._pattern, self._flags), name)
            setattr(self, name, found)  # so that this is asked once for each method
            return found


__all__ = ["lazy_pattern"]
