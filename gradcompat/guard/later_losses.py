"""After the guarded steps: a number on the device that says from which backward pass on a loss was not finite."""

from __future__ import annotations

import atexit
import math
from collections.abc import Callable
from typing import Any

from gradcompat.guard.findings import Finding
from gradcompat.guard.instrumentation import Instrumentation, loaded

READ_EVERY = 1000  # backward passes: in between the device is never waited for


class LaterLosses:
    """Notices a loss that is not finite, by two small operations on the device a backward pass."""

    def __init__(self, told: Callable[[Finding], None], fail: Callable[[Exception], None]) -> None:
        """Wrap ``torch.autograd.backward``.

        Args:
            told: is given the finding, once.
            fail: is told of an error of the guard itself.
        """
        self._told = told
        self._fail = fail
        self._passes = 0
        self._first: Any = None
        self._inside = False
        self._instrumentation = Instrumentation()
        self._instrumentation.wrap(loaded("torch").autograd, "backward", self._backward)
        atexit.register(self.end)

    def end(self) -> None:
        """Read the device for the last time, and take everything off."""
        atexit.unregister(self.end)
        if self._instrumentation.active:
            self._read()
        self._instrumentation.remove()

    def _backward(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self._inside:  # reentrant checkpointing calls it from inside
            return function(*arguments, **keywords)
        self._inside = True
        try:
            result = function(*arguments, **keywords)
        finally:
            self._inside = False
        roots: Any = arguments[0] if arguments else keywords.get("tensors")
        try:
            self._look(roots if loaded("torch").is_tensor(roots) else roots[0])
        except Exception as error:  # whatever it is, the run goes on
            self._instrumentation.remove()
            self._fail(error)
        return result

    def _look(self, root: Any) -> None:
        torch = loaded("torch")
        self._passes += 1
        with torch.no_grad():
            sound = torch.isfinite(root.detach()).all()
            now = torch.where(sound, math.inf, float(self._passes))
            if self._first is None or self._first.device != now.device:
                self._read()
                self._first = now
            else:
                self._first = torch.minimum(self._first, now)
        if self._passes % READ_EVERY == 0:
            self._read()

    def _read(self) -> None:
        if self._first is None:
            return
        first = float(self._first)
        if math.isfinite(first):
            self._instrumentation.remove()
            self._first = None
            self._told(
                Finding(
                    "finite loss",
                    "warning",
                    f"a loss was NaN or infinite in backward pass {first:.0f} after the guarded steps",
                    {"backward_pass": int(first)},
                    ("nan",),
                )
            )
