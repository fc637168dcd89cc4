"""States of a Trainer: logs, for the most part."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import trainer_state
from tests.scanners.scanned import fixture, lines, stated


def test_a_state() -> None:
    context = trainer_state.scan(fixture("hf/trainer_state.json"))
    assert (context.source, context.kind, context.run, context.skipped) == (
        "trainer_state.json",
        "hf-trainer-state",
        False,
        (),
    )
    assert context.refers_to == ()
    assert lines(context) == [
        (10, "training.num_train_epochs", 1.0),
    ]


@pytest.mark.parametrize(
    ("epochs", "expected"), [("9223372036854775807", {}), ("2", {"training.num_train_epochs": 2.0})]
)
def test_a_run_that_is_bounded_by_steps_says_nothing_of_epochs(epochs: str, expected: dict[str, float]) -> None:
    text = f'{{"log_history": [], "global_step": 0, "num_train_epochs": {epochs}}}'
    assert stated(trainer_state.scan(Document("trainer_state.json", text))) == expected


@pytest.mark.parametrize("text", ['{"log_history": []}', '{"log_history": {}, "step": 1}', '{"global_step": 1}'])
def test_something_else_is_refused(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        trainer_state.scan(Document("trainer_state.json", text))
    assert str(caught.value) == "`trainer_state.json`: is not a trainer state of transformers"
