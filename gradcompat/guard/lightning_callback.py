"""The guard for the Trainer of Lightning."""

from __future__ import annotations

import functools
from dataclasses import asdict
from typing import Any

from gradcompat.guard import tracebacks
from gradcompat.guard.findings import GuardStop
from gradcompat.guard.guard import Guard
from gradcompat.guard.instrumentation import with_parents
from gradcompat.guard.options import Options

_MODULES = ("lightning.pytorch.callbacks.callback", "pytorch_lightning.callbacks.callback")


class LightningGuard:
    """``Trainer(…, callbacks=[LightningGuard()])`` verifies the first optimizer steps."""

    def __new__(cls, **options: Any) -> LightningGuard:
        """An instance that is a ``Callback`` of the Lightning that is loaded, under either of its names."""
        return object.__new__(with_parents(cls, _MODULES, "Callback"))

    def __init__(self, **options: Any) -> None:
        """Take the options of the guard.

        Args:
            options: fields of :class:`gradcompat.guard.options.Options`.

        Raises:
            ValueError: if an option makes no sense.
        """
        super().__init__()
        self.options = Options(**options)
        self.guard: Guard | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Strategies that spawn processes send callbacks there."""
        return functools.partial(LightningGuard, **asdict(self.options)), ()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Put the guard on, before the first micro-batch."""
        automatic = bool(getattr(pl_module, "automatic_optimization", True))
        guard = self.guard = Guard(pl_module, **asdict(self.options))
        guard.framework = "Trainer of Lightning"
        guard.asked.accumulation = int(trainer.accumulate_grad_batches) if automatic else None
        limit, by = trainer.gradient_clip_val, str(getattr(trainer, "gradient_clip_algorithm", None) or "norm")
        if automatic and (not limit or "norm" in by):  # clipping by value is not known to the guard
            guard.asked.max_grad_norm = float(limit or 0.0)
        strategy = type(trainer.strategy).__name__
        guard.asked.data_parallel = trainer.world_size > 1 and any(one in strategy for one in ("DDP", "FSDP"))
        guard.facts = {
            "training.framework": "lightning",
            "training.gradient_accumulation_steps": int(trainer.accumulate_grad_batches),
            "training.manual_optimization": not automatic,
            "distributed.strategy": "ddp" if "DDP" in strategy else "fsdp" if "FSDP" in strategy else "none",
        }
        if len(trainer.optimizers) == 1:  # it counts the steps of all of them
            guard.asked.taken = int(trainer.global_step)
        if trainer.global_step > 0:
            batches = getattr(trainer.fit_loop.epoch_loop, "batch_idx", -1)
            guard.asked.resumed = "inside an epoch" if batches > 0 else "somewhere"
        interval = getattr(trainer, "val_check_batch", None)
        batches = getattr(trainer, "num_training_batches", None)
        if isinstance(interval, (int, float)) and isinstance(batches, (int, float)) and trainer.enable_validation:
            guard.facts["training.validation_inside_epoch"] = interval < batches
        guard.start()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Say what was verified of a run that was shorter than the guarded steps."""
        if self.guard is not None:
            self.guard.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """The run ends: take everything off."""
        if self.guard is not None and not isinstance(exception, GuardStop):
            tracebacks.clean(exception)
            self.guard.close()
