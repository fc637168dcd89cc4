"""Which arcs of gradcompat an input takes, and how many steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, TypeVar

from fuzz.targets import PACKAGE

Returned = TypeVar("Returned")
Arc = tuple[str, int, int]  # a module, a line, the line after it
_LINES_TRACED = 100_000  # beyond which an input is no longer followed: it has shown what it can


@dataclass(slots=True)
class Trace:
    """What has been seen.

    Attributes:
        steps: lines that were run; a measure of work that does not depend on the machine.
    """

    steps: int = 0
    _seen: dict[CodeType, set[tuple[int, int]]] = field(default_factory=dict)

    def arcs(self) -> set[Arc]:
        """All arcs, with modules as paths below the package."""
        return {
            (code.co_filename[len(PACKAGE) :], before, after)
            for code, arcs in self._seen.items()
            for before, after in arcs
        }

    def of(self, work: Callable[[], Returned]) -> Returned:
        """Do the work, and follow it."""

        def entered(frame: FrameType, _: str, __: Any) -> Callable[..., Any] | None:
            code = frame.f_code
            if self.steps > _LINES_TRACED or not code.co_filename.startswith(PACKAGE):
                return None
            arcs = self._seen.setdefault(code, set())
            last = -1

            def stepped(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
                nonlocal last
                if event == "line":
                    self.steps += 1
                    arcs.add((last, frame.f_lineno))
                    last = frame.f_lineno
                return stepped

            return stepped

        before = sys.gettrace()
        sys.settrace(entered)
        try:
            return work()
        finally:
            sys.settrace(before)
