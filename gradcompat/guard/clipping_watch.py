"""Calls that clip gradients: of torch, and of the frameworks that clip by themselves.

Lightning, accelerate and the Trainer call torch's functions; FSDP 1 and DeepSpeed's engine clip shards of their own.
How far a call has gone is read from a few gradients before and after it, whatever it calls its limit.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from gradcompat.guard.instrumentation import Fail, Instrumentation, loaded
from gradcompat.guard.measurement import Clip
from gradcompat.guard.readout import Readout

_TENSORS = 8
_ELEMENTS = 256
_By = Literal["norm", "value"]
# torch's functions, by the name that a program imports and by the one that they call each other by.
_FUNCTIONS: dict[str, _By] = {
    "clip_grad_norm_": "norm",
    "clip_grads_with_norm_": "norm",
    "_clip_grads_with_norm_": "norm",
    "clip_grad_value_": "value",
}
_MULTIPLIED = 100
# Methods that clip the parameters of a module, and where that is.
_METHODS = {
    ("torch.distributed.fsdp.fully_sharded_data_parallel", "FullyShardedDataParallel"): ("clip_grad_norm_", ""),
    ("deepspeed.runtime.engine", "DeepSpeedEngine"): ("clip_fp32_gradients", "module"),
}


@dataclass(frozen=True)
class _Call:
    by: _By
    parameters: frozenset[int]
    backward: int
    kept: Any  # on the device; None where there were no gradients
    scale: Any  # that of a GradScaler whose factor is still in the gradients, on the device


class ClippingWatch:
    """The calls since the last optimizer step."""

    def __init__(
        self,
        instrumentation: Instrumentation,
        fail: Fail,
        before: Callable[[], tuple[int, Any]],
        after: Callable[[], None],
    ) -> None:
        """Wrap torch's functions.

        Args:
            instrumentation: takes the wrappers off again.
            fail: is told of an error of the guard itself.
            before: is called before gradients are clipped, and gives the backward passes of this step and the factor
                that is still in the gradients, if there is one.
            after: is called when they are clipped.
        """
        self._fail = fail
        self._before = before
        self._after = after
        self._instrumentation = instrumentation
        self._calls: list[_Call] = []
        self._inside = False
        self._wrapped: set[tuple[str, str]] = set()
        for module in ("torch.nn.utils.clip_grad", "torch.nn.utils"):
            for name, by in _FUNCTIONS.items():
                if hasattr(loaded(module), name):
                    instrumentation.wrap(loaded(module), name, self._around(by))
        instrumentation.keep(self)

    def remove(self) -> None:
        """Call nothing any more, and so hold nothing: whoever is called holds models and this."""
        self._before, self._after = lambda: (0, None), lambda: None

    def wrap_frameworks(self) -> None:
        """Wrap what clips by itself, as far as the process has loaded it."""
        for (module, name), (method, inner) in _METHODS.items():
            owner = getattr(loaded(module), name, None)
            if owner is not None and (module, name) not in self._wrapped:
                self._wrapped.add((module, name))
                self._instrumentation.wrap(owner, method, self._around_method(inner))

    def clear(self) -> None:
        """The step is over."""
        self._calls = []

    def add(self, readout: Readout) -> Callable[[], tuple[Clip, ...]]:
        """Add what has to be read from the device; call the result when it has been read."""
        places = [(call, readout.add(call.kept), readout.add(call.scale)) for call in self._calls]

        def clips() -> tuple[Clip, ...]:
            return tuple(
                Clip(
                    call.by,
                    call.parameters,
                    call.backward,
                    kept=readout.number(kept_at, 1.0),
                    scale=readout.number(scale_at, 1.0),
                )
                for call, kept_at, scale_at in places
            )

        return clips

    def _around(self, by: _By) -> Callable[..., Any]:
        def around(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            if self._inside:
                return function(*arguments, **keywords)
            given = arguments[0] if arguments else keywords.get("parameters")
            if loaded("torch").is_tensor(given):
                found = [given]
            elif isinstance(given, types.GeneratorType):  # torch warns of one that gives nothing
                found = list(given)
                again = (one for one in found)
                arguments, keywords = (
                    ((again, *arguments[1:]), keywords) if arguments else ((), {**keywords, "parameters": again})
                )
            elif isinstance(given, (list, tuple)):
                found = list(given)
            else:
                return function(*arguments, **keywords)
            limit = arguments[1] if len(arguments) > 1 else keywords.get("max_norm", keywords.get("clip_value"))
            return self._watched(by, found, lambda: function(*arguments, **keywords), limit)

        return around

    def _around_method(self, inner: str) -> Callable[..., Any]:
        def around(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            module = getattr(arguments[0], inner) if inner else arguments[0]
            return self._watched("norm", list(module.parameters()), lambda: function(*arguments, **keywords))

        return around

    def _watched(self, by: _By, parameters: list[Any], clip: Callable[[], Any], limit: Any = None) -> Any:
        begun = self._begin(parameters)
        self._inside = True
        try:
            result = clip()
        finally:
            self._inside = False
        if begun is not None:
            self._end(by, parameters, limit, *begun)
        return result

    def _begin(self, parameters: list[Any]) -> tuple[int, Any, list[tuple[int, Any]]] | None:
        try:
            return *self._before(), _norms(parameters)
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)
            return None

    def _end(
        self, by: _By, parameters: list[Any], limit: Any, passes: int, scale: Any, norms: list[tuple[int, Any]]
    ) -> None:
        try:
            if scale is not None and limit is not None:  # one that is as large as the factor was multiplied by it
                scale = scale.where(scale > _MULTIPLIED * limit, 1.0)
            self._after()
            ids = frozenset(id(one) for one in parameters if one.requires_grad)
            self._calls.append(_Call(by, ids, passes, _kept(norms, parameters), scale))
        except Exception as error:  # as above
            self._fail(error)


def _norms(parameters: Iterable[Any]) -> list[tuple[int, Any]]:
    """Norms of some elements of a few gradients, each with the number of its parameter."""
    torch = loaded("torch")
    having = [(number, one.grad) for number, one in enumerate(parameters) if one.grad is not None]
    having = [(number, gradient) for number, gradient in having if not gradient.is_sparse]
    spread = max(1, len(having) // _TENSORS)
    found = []
    with torch.no_grad():
        for number, gradient in having[::spread][:_TENSORS]:
            here = gradient.to_local() if hasattr(gradient, "to_local") else gradient
            flat = here.detach().reshape(-1)
            if flat.numel():
                some = flat[:: max(1, flat.numel() // _ELEMENTS)][:_ELEMENTS]
                found.append((number, torch.linalg.vector_norm(some, dtype=torch.float32)))
    return found


def _kept(before: list[tuple[int, Any]], parameters: list[Any]) -> Any:
    """The smallest ratio of a norm after to the one before; None if there is nothing to compare."""
    torch = loaded("torch")
    after = dict(_norms(parameters))
    pairs = [(one, after[number]) for number, one in before if number in after]
    if not pairs:
        return None
    old, new = (torch.stack([one.to(pairs[0][0].device) for one in column]) for column in zip(*pairs, strict=True))
    return torch.where(old > 0, new / old, torch.ones_like(old)).nan_to_num(1.0).min()
