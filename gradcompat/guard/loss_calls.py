"""Calls of torch's loss functions: the gradient that arrives at each output is the weight of its labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradcompat.guard.instrumentation import Instrumentation, loaded
from gradcompat.guard.measurement import LossTerm

LOSSES = (
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "logsigmoid",
)
_CLASSES = ("cross_entropy", "nll_loss")


@dataclass
class LossCall:
    """One call, as tensors on the device.

    Attributes:
        function: its name.
        reduction: ``mean``, ``sum`` or ``none``.
        count: labels that count.
        value: the output, summed where it has elements.
        arrived: the gradient that arrived at the output, summed; None where none did.
        target: the labels, where they are classes.
        output: kept for a replay alone, which differentiates as far as here.
    """

    function: str
    reduction: str
    count: Any
    value: Any
    arrived: Any = None
    target: Any = None
    output: Any = field(default=None, repr=False)

    @property
    def tensors(self) -> tuple[Any, Any, Any]:
        """What has to be read from the device."""
        return self.arrived, self.count, self.value

    def term(self, arrived: float, count: float, value: float, *, scale: float) -> LossTerm:
        """The term in plain numbers.

        Args:
            arrived: number behind :attr:`arrived`.
            count: number behind :attr:`count`.
            value: number behind :attr:`value`.
            scale: factor of a GradScaler.
        """
        weight = arrived * count if self.reduction == "sum" else arrived
        mean = value if self.reduction == "mean" else value / max(1.0, count)
        if self.function == "logsigmoid":  # whoever trains on it takes its negative
            weight, mean = -weight, -mean
        return LossTerm(function=self.function, weight=weight / scale, labels=count, mean=mean)


class LossLedger:
    """The calls since the last backward pass."""

    def __init__(self, instrumentation: Instrumentation, fail: Callable[[Exception], None]) -> None:
        """Wrap the loss functions.

        Args:
            instrumentation: takes the wrappers off again.
            fail: is told of an error of the guard itself.
        """
        self.calls: list[LossCall] = []
        self.keep_outputs = False
        self.keep_targets = True
        self.in_backward = False
        self._fail = fail
        functional = loaded("torch").nn.functional
        for name in LOSSES:
            instrumentation.wrap(functional, name, self._around)

    def take(self) -> list[LossCall]:
        """The calls, which are forgotten here."""
        calls, self.calls = self.calls, []
        return calls

    def _around(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        output = function(*arguments, **keywords)
        try:
            # Checkpointing computes a loss inside its region again, in backward; reentrant, for the first time.
            if getattr(output, "requires_grad", False) and not (self.in_backward and self.calls):
                self.calls.append(self._call(function, arguments, keywords, output))
                if self.keep_outputs:
                    # `loss *= n` would change the node that a replay differentiates for.
                    return output.clone()
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)
        return output

    def _call(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any
    ) -> LossCall:
        torch = loaded("torch")
        name = function.__name__
        if name == "log_sigmoid":
            name = "logsigmoid"
        values = _bound(function, arguments, keywords)
        target: Any = values.get("target")
        reduction = "none" if name == "logsigmoid" else str(values.get("reduction", "mean"))
        valid = None
        if name in _CLASSES and target is not None and not target.is_floating_point():
            valid = target != values["ignore_index"]
            count = valid.sum()
        else:
            shape = output if target is None else target
            count = torch.tensor(float(shape.shape[0] if name in _CLASSES and shape.ndim else shape.numel()))
        if reduction == "batchmean":
            reduction, count = "mean", torch.tensor(float(target.shape[0]))
        value = output.detach().clone()  # `loss *= steps` works in place
        call = LossCall(
            function=name,
            reduction=reduction,
            count=count,
            value=value.sum() if value.ndim else value,
            target=target.detach() if valid is not None and self.keep_targets else None,
            output=output if self.keep_outputs else None,
        )

        def arrived(gradient: Any) -> None:
            received = gradient.detach()
            if reduction == "none" and valid is not None:
                received = received * valid.reshape(received.shape)
            call.arrived = received.sum() if received.ndim else received.clone()

        output.register_hook(arrived)
        return call


def merged(terms: Sequence[tuple[str, LossTerm]]) -> tuple[LossTerm, ...]:
    """Terms of a micro-batch; calls that sum are chunks of one term, and what nothing arrived at is none.

    Args:
        terms: each with its reduction.
    """
    counted = [(reduction, term) for reduction, term in terms if term.weight]
    sums = [term for reduction, term in counted if reduction == "sum"]
    rest = tuple(term for reduction, term in counted if reduction != "sum")
    if len(sums) < 2:
        return tuple(term for _, term in counted)
    labels = sum(term.labels for term in sums)
    chunked = LossTerm(
        function=sums[0].function,
        weight=sum(term.weight for term in sums),
        labels=labels,
        mean=sum(term.mean * term.labels for term in sums) / max(1.0, labels),
    )
    return (chunked, *rest)


def _bound(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = inspect.signature(function).bind(*arguments, **keywords)
    except (TypeError, ValueError):  # a builtin without a signature: logsigmoid
        return dict(keywords)
    bound.apply_defaults()
    return dict(bound.arguments)
