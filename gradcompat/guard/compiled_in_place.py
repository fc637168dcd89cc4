"""``model.compile()``: the compiled call takes the place of the module's own, with the hooks of all modules in it.

In there no hook of ours runs, since torch would have to compile it; so the call is noted before the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcompat.guard.instrumentation import Instrumentation, compiling, loaded

_CALL = "_compiled_call_impl"


class _Replaced:
    """The compiled call of a module, to put back."""

    def __init__(self, module: Any, compiled: Callable[..., Any], noting: Callable[..., Any]) -> None:
        self._module, self._compiled, self._noting = module, compiled, noting
        setattr(module, _CALL, noting)

    def remove(self) -> None:
        """Put it back."""
        if getattr(self._module, _CALL) is self._noting:  # nobody has compiled it once more
            setattr(self._module, _CALL, self._compiled)


def watch_compiled(instrumentation: Instrumentation, called: Callable[[Any, tuple[Any, ...]], Any]) -> None:
    """Note the calls of modules that the program compiles in place.

    Args:
        instrumentation: takes everything off again.
        called: is told of the module and its arguments before each call; it raises nothing.
    """
    is_compiling = compiling()

    def compile_module(original: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        result = original(*arguments, **keywords)
        module = arguments[0]
        compiled = getattr(module, _CALL, None)
        if compiled is not None:

            def noting(*inputs: Any, **named: Any) -> Any:
                if not is_compiling():  # a module that is compiled with it
                    called(module, inputs)
                return compiled(*inputs, **named)

            instrumentation.keep(_Replaced(module, compiled, noting))
        return result

    instrumentation.wrap(loaded("torch").nn.Module, "compile", compile_module)
