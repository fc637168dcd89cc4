"""W&B, TensorBoard and MLflow, where the run uses them: they get what the guard says, and its numbers.

A tracker counts as used if the process has imported it and a run of it is active.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradcompat.guard.findings import Finding
from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.measurement import Step

_WRITERS = ("torch.utils.tensorboard.writer", "tensorboardX.writer")


def of_findings(findings: Iterable[Finding]) -> dict[str, float]:
    """The numbers behind findings, by the names that trackers show."""
    return {
        f"gradcompat/{one.detector.replace(' ', '_')}/{name}": float(value)
        for one in findings
        for name, value in one.measured.items()
        if not isinstance(value, str)
    }


def of_step(step: Step) -> dict[str, float]:
    """What was measured of a step."""
    numbers = {"gradcompat/objective_weight": step.first, "gradcompat/loss": step.loss}
    if step.gradients is not None and step.gradients.norm is not None:
        numbers["gradcompat/gradient_norm"] = step.gradients.norm
    return numbers


def log(text: str, numbers: Mapping[str, float], step: int) -> dict[str, str]:
    """Give a line and numbers to the trackers in use; those that failed, with the reason.

    Args:
        text: one line.
        numbers: by their names.
        step: number of the optimizer step.
    """
    failed: dict[str, str] = {}
    for name, tracker in _TRACKERS.items():
        try:
            tracker(text, numbers, step)
        except Exception as error:  # a server that does not answer is no reason to end a training
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
    return failed


def _wandb(text: str, numbers: Mapping[str, float], _step: int) -> None:
    run = getattr(loaded("wandb"), "run", None)
    if run is not None:  # the summary, since a call of `log` would count as a step of the run
        run.summary.update({"gradcompat": text, **numbers})


def _tensorboard(text: str, numbers: Mapping[str, float], step: int) -> None:
    for writer in _writers():
        writer.add_text("gradcompat", text, step)
        for name, value in numbers.items():
            writer.add_scalar(name, value, step)
        writer.flush()


def _writers() -> list[Any]:
    """Writers that are open; nobody keeps a list of them."""
    classes = tuple(loaded(module).SummaryWriter for module in _WRITERS if hasattr(loaded(module), "SummaryWriter"))
    if not classes:
        return []
    return [
        one
        for one in gc.get_objects()
        if issubclass(type(one), classes) and getattr(one, "file_writer", None) is not None
    ]


def _mlflow(text: str, numbers: Mapping[str, float], step: int) -> None:
    mlflow = loaded("mlflow")
    if mlflow is not None and mlflow.active_run() is not None:
        mlflow.set_tag("gradcompat", text)
        mlflow.log_metrics(dict(numbers), step=step)


_TRACKERS: dict[str, Callable[[str, Mapping[str, float], int], None]] = {
    "W&B": _wandb,
    "TensorBoard": _tensorboard,
    "MLflow": _mlflow,
}
