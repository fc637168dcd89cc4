"""Wrappers around functions and hooks on modules, all of which are taken off again."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from types import FunctionType
from typing import Any

Around = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
Fail = Callable[[Exception], None]


def loaded(name: str) -> Any:
    """A module that the process has imported, or None: the guard imports no framework."""
    return sys.modules.get(name)


class Harmless:
    """A hook whose failure is told to the guard, and never reaches the program that it is called in.

    Copied or pickled with a module it becomes a hook that does nothing, and that needs the standard library alone.
    """

    def __init__(self, hook: Callable[..., None], fail: Fail) -> None:
        """Wrap a hook.

        Args:
            hook: what torch calls.
            fail: is told of an error.
        """
        self._hook = hook
        self._fail = fail

    def __call__(self, *arguments: Any) -> None:
        """Call it."""
        try:
            self._hook(*arguments)
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)

    def __reduce__(self) -> tuple[Any, ...]:
        """Take any arguments and return None, wherever it is read."""
        return getattr, (nullcontext(), "__exit__")


def with_parents(cls: type, modules: Iterable[str], name: str) -> type:
    """A class that also has the callback classes of frameworks as parents, as far as they are loaded.

    Args:
        cls: of ours, which is imported before or after them.
        modules: where the classes are.
        name: of the classes.
    """
    found = [getattr(loaded(module), name) for module in modules if hasattr(loaded(module), name)]
    missing = [parent for parent in found if not issubclass(cls, parent)]
    return type(cls.__name__, (cls, *missing), {"__module__": cls.__module__}) if missing else cls


class Instrumentation:
    """What was put on, to take off.

    A process that was forked (a worker of a data loader) has copies of all wrappers: they pass every call through.
    """

    def __init__(self) -> None:
        """Put nothing on."""
        self._wrapped: list[tuple[Any, str, Any, Any]] = []
        self._around: list[Around] = []
        self._handles: list[Any] = []
        self._active = True
        self._process = os.getpid()

    @property
    def active(self) -> bool:
        """Whether calls are looked at, in this process."""
        return self._active and os.getpid() == self._process

    def wrap(self, owner: Any, name: str, around: Around) -> None:
        """Replace ``owner.name`` by a function that calls ``around(original, arguments, keywords)``.

        What the owner does not have is left alone.
        """
        original = getattr(owner, name, None)
        if original is None:
            return
        own = vars(owner).get(name)  # inherited where this is None
        is_compiling = compiling()
        # Not in the wrapper: torch.compile keeps tables of functions, and models would live as long as they do.
        place = len(self._around)
        self._around.append(around)

        @functools.wraps(original)
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            if is_compiling() or not self.active:
                return original(*arguments, **keywords)
            return self._around[place](original, arguments, keywords)

        scriptable = _scriptable(wrapper, original)
        setattr(owner, name, scriptable)
        self._wrapped.append((owner, name, own, scriptable))

    def keep(self, handle: Any) -> None:
        """Remember a handle with ``remove()``."""
        self._handles.append(handle)

    def remove(self) -> None:
        """Take everything off; what somebody has wrapped once more stays, and passes every call through."""
        self._active = False
        for owner, name, own, wrapper in reversed(self._wrapped):
            if vars(owner).get(name) is wrapper:
                if own is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, own)
        for handle in self._handles:
            handle.remove()
        self._wrapped, self._handles, self._around = [], [], []


def _scriptable(wrapper: Any, original: Any) -> Any:
    """The wrapper as torch.jit.script takes it: it reads the source of the original, and names where that has them."""
    if isinstance(original, FunctionType):
        made = FunctionType(wrapper.__code__, original.__globals__, original.__name__, None, wrapper.__closure__)
        return functools.update_wrapper(made, original)
    builtins = loaded("torch.jit._builtins")
    operator = builtins._find_builtin(original) if builtins is not None else None
    if operator is not None:
        builtins._register_builtin(wrapper, operator)
    return wrapper


def compiling() -> Callable[[], bool]:
    """What says that torch.compile is reading the code: it should not see the wrapper."""
    compiler = getattr(loaded("torch"), "compiler", None)
    known: Callable[[], bool] = getattr(compiler, "is_compiling", lambda: False)
    return known
