"""The guard for the Trainer of transformers, and for those that subclass it (TRL, LLaMA-Factory, ms-swift, axolotl)."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from typing import Any

from gradcompat.guard import live_facts
from gradcompat.guard.detectors import logged_loss
from gradcompat.guard.findings import Finding
from gradcompat.guard.guard import Guard
from gradcompat.guard.instrumentation import with_parents
from gradcompat.guard.options import Options
from gradcompat.guard.replay import TrainerReplay

_START_OF_EPOCH = 1e-6  # of an epoch


class GuardCallback:
    """``Trainer(…, callbacks=[GuardCallback()])`` verifies the first optimizer steps."""

    def __new__(cls, **options: Any) -> GuardCallback:
        """An instance that is a ``TrainerCallback`` of the transformers that is loaded."""
        return object.__new__(with_parents(cls, ("transformers.trainer_callback",), "TrainerCallback"))

    def __init__(self, *, trainer: Any = None, **options: Any) -> None:
        """Take the options of the guard.

        Args:
            trainer: the Trainer; without it, the one that calls.
            options: fields of :class:`gradcompat.guard.options.Options`.

        Raises:
            ValueError: if an option makes no sense.
        """
        super().__init__()
        self.options = Options(**options)
        self._trainer = trainer
        self.guard: Guard | None = None
        self._replay: TrainerReplay | None = None
        self._restore: Any = None
        self._logged = 0

    def __getattr__(self, name: str) -> Any:
        # transformers loads the class of callbacks when somebody asks for a Trainer, perhaps after this one was made.
        if name.startswith("on_"):
            return lambda *arguments, **keywords: None
        raise AttributeError(name)

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **keywords: Any) -> None:
        """Put the guard on, before the first micro-batch."""
        trainer = self._trainer or _calling_trainer()
        guard = Guard(trainer.model if trainer is not None else model, **asdict(self.options))
        self.guard = guard
        guard.framework = "Trainer of transformers"
        guard.asked.accumulation = int(args.gradient_accumulation_steps)
        guard.asked.max_grad_norm = float(args.max_grad_norm or 0.0)
        guard.asked.data_parallel = args.world_size > 1
        guard.asked.taken = int(state.global_step)
        if state.global_step > 0:
            inside = (
                not args.ignore_data_skip and abs((state.epoch or 0.0) - round(state.epoch or 0.0)) > _START_OF_EPOCH
            )
            guard.asked.resumed = "inside an epoch" if inside else "somewhere"
        try:
            guard.facts = live_facts.of_trainer(trainer) if trainer is not None else live_facts.of_arguments(args)
        except Exception as error:  # whatever it is, the run goes on
            guard.facts = {}
            guard.judgement.unverified["records"] = f"settings cannot be read ({type(error).__name__})"
        guard.start()
        if trainer is not None and guard.observer is not None:
            self._attach(trainer, guard)

    def _attach(self, trainer: Any, guard: Guard) -> None:
        """See the inputs of micro-batches, for a replay; where a forward pass of one rank alone would hang, do not."""
        observer = guard.observer
        sharded = getattr(trainer, "is_fsdp_enabled", False) or getattr(trainer, "is_deepspeed_enabled", False)
        if observer is None or sharded or not hasattr(trainer, "compute_loss_context_manager"):
            return
        replay = self._replay = TrainerReplay(trainer, observer.ledger)
        guard.asked.replay = guard.replaying(replay)
        original = trainer.training_step
        own = vars(trainer).get("training_step")

        def training_step(model: Any, inputs: Any, *arguments: Any, **keywords: Any) -> Any:
            if not guard.finished and hasattr(inputs, "items"):
                if guard.between_steps:
                    replay.remember(inputs, arguments[0] if arguments else keywords.get("num_items_in_batch"))
                replay.count(inputs)
            return original(model, inputs, *arguments, **keywords)

        def restore() -> None:
            if own is None:
                vars(trainer).pop("training_step", None)
            else:
                trainer.training_step = own

        trainer.training_step = training_step
        self._restore = restore

    def _detach(self) -> None:
        if self._restore is not None:
            self._restore()
            self._restore = None
        if self._replay is not None:
            self._replay.forget()

    def on_step_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Take the wrapper off the Trainer, when the guard has done its work."""
        if self.guard is not None and self.guard.finished:
            self._detach()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **keywords: Any) -> None:
        """Compare the loss that is shown with the loss that was trained on."""
        guard = self.guard
        if guard is None or not logs or "loss" not in logs:
            return
        steps = guard.measured_steps
        covered = steps[self._logged : state.global_step]
        self._logged = state.global_step
        shown, norm = float(logs["loss"]), logs.get("grad_norm")
        if norm is not None and not math.isfinite(float(norm)) and math.isfinite(shown):
            guard.tell([_masked(shown, float(norm))])
        elif covered and state.global_step <= len(steps):
            guard.tell(logged_loss.judge_log(shown, [step.loss for step in covered], guard.asked.accumulation))

    def on_train_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        """Say what was verified of a run that was shorter than the guarded steps."""
        self._detach()
        if self.guard is not None:
            self.guard.end()


def _masked(shown: float, norm: float) -> Finding:
    return Finding(
        "logged loss",
        "error",
        f"the log shows a loss of {shown:g} and a gradient norm of {norm}: a loss was NaN or infinite",
        {"logged": shown},
        ("nan",),
    )


def _calling_trainer() -> Any:
    """The Trainer does not hand itself to callbacks: it is the caller of the caller."""
    frame = sys._getframe(1)
    while frame is not None:
        one = frame.f_locals.get("self")
        if hasattr(one, "training_step") and hasattr(one, "callback_handler"):
            return one
        frame = frame.f_back  # type: ignore[assignment]
    return None


def attach(trainer: Any, **options: Any) -> GuardCallback:
    """Guard a Trainer that exists already."""
    callback = GuardCallback(trainer=trainer, **options)
    trainer.add_callback(callback)
    return callback
