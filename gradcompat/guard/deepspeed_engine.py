"""What an engine of DeepSpeed knows of the run: it divides and scales the loss in its own ``backward``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradcompat.guard.model_watch import ModelWatch

_CLASS = "DeepSpeedEngine"


def is_engine(model: Any) -> bool:
    """Whether a model is one, or a subclass of its class (pipelines)."""
    return any(one.__name__ == _CLASS for one in type(model).__mro__)


def accumulation(engine: Any) -> int:
    """Micro-batches of an optimizer step."""
    return int(engine.gradient_accumulation_steps())


def loss_scale(models: Iterable[ModelWatch]) -> float | None:
    """The factor that an engine's optimizer for fp16 puts into the loss; None without one."""
    for watch in models:
        if is_engine(watch.model):
            scale = getattr(getattr(watch.model, "optimizer", None), "loss_scale", None)
            if isinstance(scale, (int, float)) and scale > 0:
                return float(scale)
    return None
