"""What an engine of DeepSpeed knows of the run: it divides and scales the loss, and has gradients in partitions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradcompat.guard.collective import Ranks, world_size
from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.model_watch import ModelWatch

_CLASS = "DeepSpeedEngine"


def is_engine(model: Any) -> bool:
    """Whether a model is one, or a subclass of its class (pipelines)."""
    return any(one.__name__ == _CLASS for one in type(model).__mro__)


def accumulation(engine: Any) -> int:
    """Micro-batches of an optimizer step."""
    return int(engine.gradient_accumulation_steps())


def facts(engine: Any) -> dict[str, bool | int | float | str]:
    """Settings of an engine, by the keys of the records."""
    found: dict[str, bool | int | float | str] = {
        "distributed.strategy": "deepspeed",
        "training.gradient_accumulation_steps": accumulation(engine),
    }
    stage, offload = (getattr(engine, name, None) for name in ("zero_optimization_stage", "zero_offload_optimizer"))
    if stage is not None:
        found["deepspeed.zero_stage"] = int(stage())
    if offload is not None:
        device = getattr(offload(), "device", None)
        found["deepspeed.offload_optimizer"] = str(getattr(device, "value", device) or "none")
    return found


def is_at_boundary(engine: Any) -> bool:
    """Whether the micro-batch before was the last one of its optimizer step."""
    asked = getattr(engine, "is_gradient_accumulation_boundary", None)
    return asked is not None and bool(asked())


def loss_scale(models: Iterable[ModelWatch]) -> float | None:
    """The factor that an engine's optimizer for fp16 puts into the loss; None without one."""
    for watch in models:
        if is_engine(watch.model):
            scale = getattr(getattr(watch.model, "optimizer", None), "loss_scale", None)
            if isinstance(scale, (int, float)) and scale > 0:
                return float(scale)
    return None


def read_whole_gradients(watch: ModelWatch, ranks: Ranks) -> None:
    """Put the gradients of the sampled tensors together from their partitions; every rank has to call this.

    Args:
        watch: of the engine, which is about to step.
        ranks: agree on it first.
    """
    read = getattr(loaded("deepspeed.utils"), "safe_get_full_grad", None)
    if read is None or not watch.sums or (world_size() > 1 and not ranks.agree("partitions")):
        return
    for one in watch.sums:
        gradient = read(one.parameter)
        if gradient is not None and gradient.numel() == one.size:
            one.whole = one.elements(gradient).clone()
