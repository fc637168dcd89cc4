"""Answers by key, each found once, however many threads ask; an error is an answer, too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from gradcompat.errors import IndexUnavailable

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Answers(Generic[_Key, _Value]):
    """Values by key, which the first one to ask makes while the others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[_Key, Future[_Value | IndexUnavailable]] = {}

    def __contains__(self, key: _Key) -> bool:
        future = self._futures.get(key)
        return future is not None and future.done()

    def put(self, key: _Key, value: _Value) -> None:
        """Let this be the answer, unless there is one."""
        self.get(key, lambda: value)

    def get(self, key: _Key, make: Callable[[], _Value]) -> _Value:
        """The answer.

        Args:
            key: the question.
            make: finds the answer; it may ask for answers of other keys, never for this one.

        Raises:
            IndexUnavailable: if that is the answer.
        """
        with self._lock:
            future = self._futures.get(key)
            mine = future is None
            if future is None:
                future = self._futures[key] = Future()
        if mine:
            try:
                future.set_result(make())
            except IndexUnavailable as error:
                future.set_result(error)
            except BaseException as error:
                future.set_exception(error)
                raise
        found = future.result()
        if isinstance(found, IndexUnavailable):
            # A new one each time: one that is raised again and again gathers tracebacks.
            raise type(found)(found.message, path=found.path, line=found.line, hint=found.hint)
        return found
