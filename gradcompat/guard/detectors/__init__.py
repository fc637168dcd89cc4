"""The detectors: one module each, with a function that judges plain measurements and knows its own tolerance.

A detector of a step has ``judge(step, earlier)``, one of the whole run ``judge_run(run)``; both yield findings, what
they verified and what they could not. To add one, write the module and its line in the table here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradcompat.guard.detectors import (
    accumulated_gradient,
    auxiliary_loss,
    clipping,
    data_type,
    evaluation_mode,
    finite_loss,
    labels,
    learning_rate,
    missing_gradient,
    movement,
    objective_weight,
    optimizer_parameters,
    packing,
    replicas,
    resumed_data,
    stale_gradient,
    token_weights,
)
from gradcompat.guard.findings import Outcome
from gradcompat.guard.measurement import Run, Step

JudgeStep = Callable[[Step, Sequence[Step]], Iterator[Outcome]]
JudgeRun = Callable[[Run], Iterator[Outcome]]

STEP_DETECTORS: dict[str, JudgeStep] = {
    "finite loss": finite_loss.judge,
    "objective weight": objective_weight.judge,
    "token weights": token_weights.judge,
    "auxiliary loss": auxiliary_loss.judge,
    "missing gradient": missing_gradient.judge,
    "accumulated gradient": accumulated_gradient.judge,
    "stale gradient": stale_gradient.judge,
    "clipping": clipping.judge,
    "labels": labels.judge,
    "packing": packing.judge,
    "evaluation mode": evaluation_mode.judge,
    "replicas": replicas.judge,
    "resumed data": resumed_data.judge,
}
RUN_DETECTORS: dict[str, JudgeRun] = {
    "objective weight": objective_weight.judge_run,
    "movement": movement.judge_run,
    "optimizer parameters": optimizer_parameters.judge_run,
    "learning rate": learning_rate.judge_run,
    "dtype": data_type.judge_run,
}
