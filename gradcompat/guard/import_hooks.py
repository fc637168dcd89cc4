"""Runs something when a module has been imported, without importing it."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class AfterImport(importlib.abc.MetaPathFinder):
    """A finder that finds nothing itself, and is told of what the others have found."""

    def __init__(self, actions: Mapping[str, Callable[[Any], None]]) -> None:
        """Take name → what to do with the module."""
        self._actions = dict(actions)
        self._asking: set[str] = set()

    def install(self) -> None:
        """Stand before all other finders; what is imported already is done at once."""
        for name in [name for name in self._actions if name in sys.modules]:
            self._actions.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Look at no more imports."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Ask the others, and add the action behind the execution of the module.

        Whoever only wants to know whether a module is there asks too, and executes nothing: the action stays.
        """
        if fullname not in self._actions or fullname in self._asking:
            return None
        self._asking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking.discard(fullname)
        loader: Any = getattr(spec, "loader", None)
        if spec is None or not hasattr(loader, "exec_module"):
            return spec
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            # The module has the loader that it expects, for whoever asks for its files.
            vars(loader).pop("exec_module", None)
            action = self._actions.pop(fullname, None)
            if action is not None:
                action(module)

        loader.exec_module = exec_module
        return spec
