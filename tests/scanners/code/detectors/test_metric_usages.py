"""Whether a metric of ignite is computed more often than it is reset."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.scanners.code.detectors.metric_usages import SYMBOL

_HEAD = """\
import torch
from ignite.engine import Events
from ignite.metrics import ROC_AUC, Accuracy, Metric, MetricUsage, RunningAverage
often = Events.ITERATION_COMPLETED(every=50)
accuracy = Accuracy()
area = ROC_AUC()
"""


def _is_found(text: str) -> bool:
    context = python_code.scan(Document("train.py", _HEAD + text))
    found = next(one.value for one in context.settings if one.key == "code.symbols")
    assert isinstance(found, tuple)
    return SYMBOL in found


@pytest.mark.parametrize(
    ("started", "completed", "expected"),
    [
        ("Events.EPOCH_STARTED", "Events.ITERATION_COMPLETED(every=50)", True),
        ("Events.EPOCH_STARTED", "Events.ITERATION_COMPLETED", True),
        ("Events.EPOCH_STARTED", "often", True),
        ("Events.EPOCH_STARTED", "Events.ITERATION_COMPLETED(every=50) | Events.EPOCH_COMPLETED", True),
        ("Events.STARTED", "Events.EPOCH_COMPLETED", True),
        ("Events.EPOCH_STARTED(every=5)", "Events.EPOCH_COMPLETED", True),
        ("Events.EPOCH_STARTED", "Events.EPOCH_COMPLETED", False),
        ("Events.EPOCH_STARTED(every=2)", "Events.EPOCH_COMPLETED(every=2)", False),
        ("Events.ITERATION_STARTED", "Events.ITERATION_COMPLETED", False),
        ("Events.ITERATION_STARTED", "often", False),
        ("given", "Events.ITERATION_COMPLETED", False),
        ("Events.EPOCH_STARTED", "MyEvents.ITERATION_COMPLETED", False),
    ],
)
def test_which_usages_compute_between_resets(started: str, completed: str, expected: bool) -> None:
    assert _is_found(f"usage = MetricUsage({started}, {completed}, Events.ITERATION_COMPLETED)\n") is expected
    given = f"started={started}, completed={completed}, iteration_completed=Events.ITERATION_COMPLETED"
    own = f"class Usage(MetricUsage):\n    def __init__(self):\n        super().__init__({given})\n"
    assert _is_found(own) is expected


@pytest.mark.parametrize(
    ("metric", "reset_at", "expected"),
    [
        ("accuracy", "Events.EPOCH_STARTED", True),
        ("area", "Events.EPOCH_STARTED", False),
        ("accuracy", "Events.ITERATION_STARTED", False),
    ],
)
def test_which_handlers_compute_between_resets(metric: str, reset_at: str, expected: bool) -> None:
    handlers = (
        f"trainer.add_event_handler({reset_at}, {metric}.started)\n"
        f"trainer.add_event_handler(Events.ITERATION_COMPLETED, {metric}.iteration_completed)\n"
    )
    assert _is_found(f"{handlers}trainer.add_event_handler(often, {metric}.completed, 'name')\n") is expected


def test_a_metric_that_something_else_resets_is_left_out() -> None:
    assert not _is_found("accuracy.attach(evaluator, 'a')\ntrainer.add_event_handler(often, accuracy.completed, 'a')\n")


def test_another_constructor_is_no_usage() -> None:
    own = "class Own(Metric):\n    def __init__(self):\n        super().__init__(Events.EPOCH_STARTED, often)\n"
    assert not _is_found(f"{own}super().__init__(Events.EPOCH_STARTED, often)\n")
