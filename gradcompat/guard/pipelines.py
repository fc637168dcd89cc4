"""Pipeline parallelism: a process has some layers of the model, and its losses and gradients are no whole step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcompat.guard.import_hooks import AfterImport
from gradcompat.guard.instrumentation import Around, Instrumentation

# Module → the classes and the method that runs all micro-batches of a step through all stages.
_STEPS = {
    "torch.distributed.pipelining.schedules": (("PipelineScheduleSingle", "PipelineScheduleMulti"), "step"),
    "deepspeed.runtime.pipe.engine": (("PipelineEngine",), "train_batch"),
}


def watch_pipelines(instrumentation: Instrumentation, around: Around) -> None:
    """Wrap the steps of pipelines, also of those that the program imports later.

    Args:
        instrumentation: takes the wrappers off again.
        around: is called in place of a step, with the original and its arguments.
    """

    def wrapping(classes: tuple[str, ...], method: str) -> Callable[[Any], None]:
        def wrap(module: Any) -> None:
            for name in classes:
                if instrumentation.active and hasattr(module, name):
                    instrumentation.wrap(getattr(module, name), method, around)

        return wrap

    finder = AfterImport({module: wrapping(*step) for module, step in _STEPS.items()})
    finder.install()
    instrumentation.keep(finder)
