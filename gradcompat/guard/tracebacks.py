"""Tracebacks of the program as they are without the guard, whose wrappers stand between its calls and torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_IMPORTLIB = "<frozen importlib."


def clean(error: BaseException | None) -> None:
    """Take the frames of the guard out of an error's traceback, and of the errors that it came from.

    Args:
        error: of the program; an environment with ``GRADCOMPAT_TRACEBACK`` keeps the frames.
    """
    if os.environ.get("GRADCOMPAT_TRACEBACK"):
        return
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = _without_ours(one.__traceback__)
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def around_hook(hook: Callable[..., Any], arguments: tuple[Any, ...], _keywords: dict[str, Any]) -> Any:
    """What stands around ``sys.excepthook``, which is called with the class, the error and its traceback."""
    _, error, _ = arguments
    clean(error)
    return hook(type(error), error, error.__traceback__)


def install() -> None:
    """Clean what nobody catches, from here to the end of the process."""
    hook = sys.excepthook
    sys.excepthook = lambda *arguments: around_hook(hook, arguments, {})


def _without_ours(first: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    one = first
    while one is not None:
        if not _file(one).startswith(_OURS):
            kept.append(one)
        else:
            # Python leaves these out by itself where nothing stands between them and the module.
            while kept and _file(kept[-1]).startswith(_IMPORTLIB):
                kept.pop()
        one = one.tb_next
    for place, one in enumerate(kept):
        one.tb_next = kept[place + 1] if place + 1 < len(kept) else None
    return kept[0] if kept else None


def _file(trace: TracebackType) -> str:
    return trace.tb_frame.f_code.co_filename
