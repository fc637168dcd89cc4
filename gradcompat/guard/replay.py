"""The first micro-batch of a step once more, forward and alone: what its loss is meant to be.

Random state and buffers are put back, so that the run goes on bit for bit as without it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gradcompat.guard.first_batch import class_name
from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.loss_calls import LossLedger, merged
from gradcompat.guard.measurement import Replay
from gradcompat.guard.random_state import RandomState, unchanged

_IGNORED = -100


class TrainerReplay:
    """Replays ``compute_loss`` of a Trainer of transformers."""

    def __init__(self, trainer: Any, ledger: LossLedger) -> None:
        """Wait for the first micro-batch.

        Args:
            trainer: whose ``compute_loss`` is called.
            ledger: sees the loss functions.
        """
        self._trainer = trainer
        self._ledger = ledger
        self._inputs: dict[str, Any] | None = None
        self._state: RandomState | None = None
        self._items: Any = None
        self._counts: list[Any] = []

    def remember(self, inputs: Mapping[str, Any], items: Any) -> None:
        """A micro-batch is about to be computed: the first one of its step."""
        self._inputs, self._state, self._items, self._counts = dict(inputs), RandomState(), items, []

    def count(self, inputs: Mapping[str, Any]) -> None:
        """A micro-batch is about to be computed: how many labels the Trainer's own smoothing averages over."""
        labels: Any = inputs.get("labels")
        smoother = getattr(self._trainer, "label_smoother", None)
        if smoother is None or not loaded("torch").is_tensor(labels) or labels.is_floating_point():
            return
        ahead = labels[..., 1:] if class_name(self._trainer.model).endswith("ForCausalLM") else labels
        self._counts.append((ahead != getattr(smoother, "ignore_index", _IGNORED)).sum())

    def forget(self) -> None:
        """Keep no data any longer."""
        self._inputs = self._state = None

    def __call__(self) -> Replay | None:
        """Compute it once more; None if there is nothing to replay."""
        if self._inputs is None or self._state is None:
            return None
        trainer, torch = self._trainer, loaded("torch")
        inputs = trainer._prepare_inputs(dict(self._inputs))
        labels = self._labels(inputs)
        with unchanged(trainer.model, self._state, self._ledger):
            with torch.enable_grad(), trainer.compute_loss_context_manager():
                loss = trainer.compute_loss(trainer.model, inputs, **self._extra(labels))
            return self._measured(loss, labels)

    def _labels(self, inputs: Mapping[str, Any]) -> Any:
        """How many labels a batch of its own would be divided by."""
        labels: Any = inputs.get("labels")
        torch = loaded("torch")
        if not torch.is_tensor(labels):
            return None
        if labels.is_floating_point():
            return torch.tensor(labels.shape[0])
        # As this release counts, with the label at position 0 or without: one large batch is counted by it too.
        count = getattr(self._trainer, "_get_num_items_in_batch", None)
        if count is not None and self._trainer.accelerator.num_processes == 1:
            own = count([inputs], labels.device)
            if own is not None:
                return own
        return (labels != _IGNORED).sum()

    def _extra(self, labels: Any) -> dict[str, Any]:
        if self._items is None:
            return {}
        parameters = inspect.signature(self._trainer.compute_loss).parameters
        takes = "num_items_in_batch" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        return {"num_items_in_batch": labels} if takes else {}

    def _world(self) -> int:
        """By what this release multiplies the loss for the number of processes."""
        trainer = self._trainer
        if self._items is None or trainer.accelerator.num_processes < 2:
            return 1
        counts = getattr(trainer, "model_accepts_loss_kwargs", False) or getattr(trainer, "compute_loss_func", None)
        averages = getattr(trainer.args, "average_tokens_across_devices", False)
        return int(trainer.accelerator.num_processes) if counts and averages else 1

    def _measured(self, loss: Any, labels: Any) -> Replay:
        torch, world = loaded("torch"), self._world()
        value = float(loss.detach()) / world
        share = None
        counts = getattr(self._trainer, "model_accepts_loss_kwargs", False)
        if counts and self._items is not None and labels is not None and float(self._items):
            share = float(labels) / float(self._items)
        elif self._items is None and self._counts:  # releases that count no items: smoothing is a mean over labels
            share = float(self._counts[0]) / max(1.0, sum(map(float, self._counts)))
        calls = [call for call in self._ledger.calls if call.output is not None]
        if not calls:
            return Replay(loss=value, share=share)
        # Only as far as the loss functions: nothing goes backward through the model.
        arrived = torch.autograd.grad(loss, [call.output for call in calls], allow_unused=True)
        terms = []
        for call, one in zip(calls, arrived, strict=True):
            if one is not None:
                call.receive(one)
                numbers = (float(call.arrived), float(call.count), float(call.value))
                terms.append((call.reduction, call.term(*numbers, scale=1.0)))
        found = merged(terms)
        if not found:
            return Replay(loss=value, share=share)
        explained = sum(term.weight * term.mean for term in found) / world
        return Replay(loss=value, weight=found[0].weight / world, unexplained=value - explained, share=share)
