"""Calls of torch's loss functions: the gradient that arrives at each output is the weight of its labels."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradcompat.guard.instrumentation import Fail, Harmless, Instrumentation, loaded
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
_IGNORED = -100
_LOG_PROBABILITIES = "log_probabilities"
# Losses that are computed with the last layer, by the class of their autograd function and what it computes.
FUSED = {
    ("liger_kernel.ops.fused_linear_cross_entropy", "LigerFusedLinearCrossEntropyFunction"): "cross_entropy",
    ("liger_kernel.ops.cross_entropy", "LigerCrossEntropyFunction"): "cross_entropy",
    ("trl.kernels.chunked_logprob", "ChunkedLogProbFunction"): _LOG_PROBABILITIES,
}
_SAME_WEIGHT = 0.01  # log-probabilities are a loss where all of them count alike, and advantages weigh none


@dataclass
class LossCall:
    """One call, as tensors on the device.

    Attributes:
        function: its name.
        reduction: ``mean``, ``sum`` or ``none``.
        count: labels that count.
        value: the output, summed where it has elements.
        arrived: the gradient that arrived at the output, summed; None where none did.
        uneven: whether the gradients that arrived at its elements differ.
        target: the labels, where they are classes.
        valid: which elements are labels that count; None if all are.
        output: kept for a replay alone, which differentiates as far as here.
    """

    function: str
    reduction: str
    count: Any
    value: Any
    arrived: Any = None
    uneven: Any = None
    target: Any = None
    valid: Any = field(default=None, repr=False)
    output: Any = field(default=None, repr=False)

    @property
    def tensors(self) -> tuple[Any, Any, Any, Any]:
        """What has to be read from the device."""
        return self.arrived, self.count, self.value, self.uneven

    def receive(self, gradient: Any) -> None:
        """Take in the gradient that arrives at the output."""
        torch = loaded("torch")
        received = gradient.detach()
        if self.reduction == "none" and self.valid is not None:
            received = received * self.valid.reshape(received.shape)
        if self.reduction == "none" and received.numel() > 1:
            counted = received != 0
            lowest = torch.where(counted, received, math.inf).min()
            highest = torch.where(counted, received, -math.inf).max()
            self.uneven = highest - lowest > _SAME_WEIGHT * torch.maximum(highest.abs(), lowest.abs())
            if self.function == _LOG_PROBABILITIES:
                self.value = (self.value * counted).sum() if self.value.ndim else self.value
                self.count = counted.sum()
                received = torch.where(self.uneven, 0.0, received)
        self.arrived = received.sum() if received.ndim else received.clone()

    def term(self, arrived: float, count: float, value: float, uneven: float = 0.0, *, scale: float) -> LossTerm:
        """The term in plain numbers.

        Args:
            arrived: number behind :attr:`arrived`.
            count: number behind :attr:`count`.
            value: number behind :attr:`value`.
            uneven: number behind :attr:`uneven`.
            scale: factor of a GradScaler.
        """
        weight = arrived * count if self.reduction == "sum" else arrived
        mean = value if self.reduction == "mean" else value / max(1.0, count)
        if self.function in ("logsigmoid", _LOG_PROBABILITIES):  # whoever trains on it takes its negative
            weight, mean = -weight, -mean
        return LossTerm(function=self.function, weight=weight / scale, labels=count, mean=mean, uneven=bool(uneven))


class LossLedger:
    """The calls since the last backward pass."""

    def __init__(self, instrumentation: Instrumentation, fail: Fail) -> None:
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
        self._instrumentation = instrumentation
        self._fused: set[tuple[str, str]] = set()

    def wrap_fused(self) -> None:
        """Wrap what computes a loss together with the last layer, as far as the process has loaded it."""
        for (module, name), function in FUSED.items():
            owner = getattr(loaded(module), name, None)
            if owner is not None and (module, name) not in self._fused:
                self._fused.add((module, name))
                self._instrumentation.wrap(owner, "apply", functools.partial(self._around_fused, function, owner))

    def take(self) -> list[LossCall]:
        """The calls, which are forgotten here."""
        calls, self.calls = self.calls, []
        return calls

    def _around(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return self._seen(
            function(*arguments, **keywords),
            lambda output: self._call(function.__name__, _bound(function, arguments, keywords), output),
        )

    def _around_fused(
        self, name: str, owner: Any, apply: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        outputs = apply(*arguments, **keywords)
        first = outputs[0] if isinstance(outputs, tuple) else outputs

        def call(output: Any) -> LossCall:
            values = _bound(owner.forward, (None, *arguments), keywords)
            return self._call(name, {"ignore_index": _IGNORED, **values}, output)

        seen = self._seen(first, call)
        return (seen, *outputs[1:]) if isinstance(outputs, tuple) else seen

    def _seen(self, output: Any, call: Callable[[Any], LossCall]) -> Any:
        try:
            # Checkpointing computes a loss inside its region again, in backward; reentrant, for the first time.
            if getattr(output, "requires_grad", False) and not (self.in_backward and self.calls):
                self.calls.append(call(output))
                if self.keep_outputs:
                    # `loss *= n` would change the node that a replay differentiates for.
                    return output.clone()
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)
        return output

    def _call(self, name: str, values: dict[str, Any], output: Any) -> LossCall:
        torch = loaded("torch")
        if name == "log_sigmoid":
            name = "logsigmoid"
        target: Any = values.get("target")
        reduction = "none" if name in ("logsigmoid", _LOG_PROBABILITIES) else str(values.get("reduction", "mean"))
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
            value=value.sum() if value.ndim and name != _LOG_PROBABILITIES else value,
            valid=valid,
            target=target.detach() if valid is not None and self.keep_targets else None,
            output=output if self.keep_outputs else None,
        )
        output.register_hook(Harmless(functools.partial(self._receive, call), self._fail))
        return call

    def _receive(self, call: LossCall, gradient: Any) -> None:
        if self.in_backward:  # `torch.autograd.grad` is called for something else than a step: an attack, a penalty
            call.receive(gradient)


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
