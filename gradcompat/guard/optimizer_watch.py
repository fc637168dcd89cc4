"""Optimizers beside their gradients: the dtype of their moments, and the schedule of their learning rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from gradcompat.guard.instrumentation import Fail, Instrumentation, loaded
from gradcompat.guard.measurement import Schedule

_Moment = tuple[int, str]  # identity of a parameter, and the name that the optimizer has for its state


class OptimizerWatch:
    """What optimizers keep from step to step, and how often schedulers move."""

    def __init__(self, instrumentation: Instrumentation, fail: Fail) -> None:
        """Wrap ``load_state_dict`` of optimizers and ``step`` of schedulers.

        Args:
            instrumentation: takes the wrappers off again.
            fail: is told of an error of the guard itself.
        """
        self._fail = fail
        self._dtypes: dict[_Moment, str] = {}
        self._changes: dict[_Moment, str] = {}
        self._optimizers: dict[int, Any] = {}
        self._schedulers: dict[int, Any] = {}
        self._moves: Counter[int] = Counter()
        self._moving = False
        instrumentation.wrap(loaded("torch").optim.Optimizer, "load_state_dict", self._read_back)
        schedulers = loaded("torch.optim.lr_scheduler")
        base = getattr(schedulers, "LRScheduler", None) or schedulers._LRScheduler
        for one in _with_subclasses(base):
            if "step" in vars(one):
                instrumentation.wrap(one, "step", self._move)

    def inherit(self, other: OptimizerWatch) -> None:
        """Take over what another guard has seen before this one was made."""
        self._changes.update(other._changes)

    # The dtype of moments.

    @property
    def moments_changed(self) -> tuple[str, ...]:
        """Moments whose dtype is another one than before, each as ``torch.float32 to torch.bfloat16``."""
        for optimizer in self._optimizers.values():
            self.hold(optimizer)
        return tuple(self._changes.values())

    def hold(self, optimizer: Any) -> None:
        """An optimizer is about to step, or has stepped: compare its moments with those of before."""
        self._optimizers[id(optimizer)] = optimizer
        for key, value in _moments(optimizer):
            before, now = self._dtypes.setdefault(key, str(value.dtype)), str(value.dtype)
            if before != now:
                self._changes[key] = f"{before} to {now}"

    def _read_back(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        result = function(*arguments, **keywords)
        try:
            optimizer, *given = arguments
            self._compare(optimizer, given[0] if given else keywords["state_dict"])
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)
        return result

    def _compare(self, optimizer: Any, state: Any) -> None:
        """Torch casts what is read to the dtype of the parameter."""
        saved = [one for group in state["param_groups"] for one in group["params"]]
        ours = [one for group in optimizer.param_groups for one in group["params"]]
        torch = loaded("torch")
        for number, parameter in zip(saved, ours, strict=False):
            for name, value in state["state"].get(number, {}).items():
                now = optimizer.state.get(parameter, {}).get(name)
                if not (torch.is_tensor(value) and torch.is_tensor(now)):
                    continue
                if _is_moment(value) and _is_moment(now) and value.dtype != now.dtype:
                    self._changes[id(parameter), name] = f"{value.dtype} to {now.dtype}, as it was read back"

    # The schedule.

    def schedule(self, optimizer: Any) -> Schedule | None:
        """What the schedulers that have moved since the last step ask of this one; None if none is known."""
        schedulers = self._schedulers.values()
        mine = [one for one in schedulers if _is_driven(one, optimizer)]
        moves = max((self._moves[id(one)] for one in mine), default=0)
        others = bool(schedulers) and not mine
        self._moves.clear()
        if not schedulers:
            return None
        planned = mine[-1].get_last_lr() if len(mine) == 1 and hasattr(mine[0], "_last_lr") else ()
        position = getattr(mine[-1], "last_epoch", None) if len(mine) == 1 else None
        return Schedule(
            moves=moves,
            planned=tuple(float(one) for one in planned),
            elsewhere=others,
            position=position if isinstance(position, int) else None,
        )

    def _move(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self._moving or len(arguments) != 1 or keywords:  # a chain moves its parts; an epoch says where to go
            return function(*arguments, **keywords)
        self._moving = True
        try:
            result = function(*arguments, **keywords)
        finally:
            self._moving = False
        scheduler = arguments[0]
        self._schedulers[id(scheduler)] = scheduler
        self._moves[id(scheduler)] += 1
        return result


def _with_subclasses(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for subclass in base.__subclasses__():
        yield from _with_subclasses(subclass)


def _moments(optimizer: Any) -> Iterator[tuple[_Moment, Any]]:
    torch = loaded("torch")
    for parameter, state in optimizer.state.items():
        if isinstance(state, dict):
            for name, value in state.items():
                if torch.is_tensor(value) and _is_moment(value):
                    yield (id(parameter), str(name)), value


def _is_moment(value: Any) -> bool:
    """A number for each weight, and no counter of steps."""
    return bool(value.is_floating_point() and value.numel() > 1)


def _is_driven(scheduler: Any, optimizer: Any) -> bool:
    """Whether a scheduler sets the rates of this optimizer, perhaps through a wrapper that has the same groups."""
    groups = getattr(getattr(scheduler, "optimizer", None), "param_groups", None) or []
    return any(one is other for one in groups for other in optimizer.param_groups)
