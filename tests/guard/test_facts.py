"""Settings that the guard reads in the process or measures, and the records that are matched with them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from gradcompat.guard import guard as guard_module
from gradcompat.guard import live_facts
from gradcompat.guard.guard import Guard
from gradcompat.guard.matched_records import RecordMatching


class Matching:
    """Remembers what it is asked with."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, facts: dict[str, Any], python: str = "") -> None:
        self.asked.append(facts)

    def close(self) -> None:
        """Nothing runs."""


def test_records_are_matched_again_with_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "RecordMatching", Matching)
    Matching.asked.clear()
    guard = Guard(report="")
    guard.facts = {"training.framework": "torch"}
    guard._match_again({"training.packing": True})
    assert Matching.asked == []  # this rank has matched nothing yet
    guard._matching = Matching({})  # type: ignore[assignment]
    guard._match_again({"training.framework": "trl"})
    guard._match_again({"training.packing": True})
    guard._match_again({"training.packing": False})
    assert Matching.asked == [{}, {"training.framework": "torch", "training.packing": True}]


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        ("error: it cannot\n\nhint: do that", "it cannot"),
        ("Traceback (most recent call last):\nOSError: no", "OSError: no"),
        ("", "status 3"),
    ],
)
def test_what_kept_the_records_from_being_matched_is_said_and_not_what_to_do(
    tmp_path: Path, printed: str, problem: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '{printed}' >&2\nexit 3\n", "utf-8")
    python.chmod(0o755)
    matching = RecordMatching({}, str(python))
    assert matching.records() == ()
    assert matching.problem == problem


class Model:
    """The part of a model that settings are read from."""

    def modules(self) -> list[object]:
        return [SimpleNamespace(gradient_checkpointing=True)]

    def parameters(self) -> list[object]:
        return []

    def forward(self, input_ids: object, labels: object = None) -> object:
        return None


class Counting(Model):
    """Takes the number of labels."""

    def forward(self, input_ids: object, labels: object = None, num_items_in_batch: object = None) -> object:
        return None


class Open(Model):
    """May use anything."""

    def forward(self, input_ids: object, labels: object = None, **keywords: object) -> object:
        return None


@pytest.mark.parametrize(("model", "uses"), [(Model(), False), (Counting(), None), (Open(), None)])
def test_a_forward_that_cannot_take_the_number_of_labels_does_not_use_it(model: Model, uses: bool | None) -> None:
    assert live_facts.of_model(model).get("model.uses_num_items_in_batch") is uses


def test_a_loop_with_accelerate_says_how_it_accumulates(monkeypatch: pytest.MonkeyPatch) -> None:
    assert live_facts.of_loop(Model()) == {"training.framework": "torch", "training.gradient_checkpointing": True}
    state = ModuleType("accelerate.state")
    vars(state).update(
        AcceleratorState=SimpleNamespace(_shared_state={"initialized": True}),
        GradientState=SimpleNamespace(_shared_state={"plugin_kwargs": {"num_steps": 4, "sync_each_batch": True}}),
    )
    monkeypatch.setitem(sys.modules, "accelerate.state", state)
    assert live_facts.of_loop(Model()) == {
        "training.framework": "accelerate",
        "training.gradient_checkpointing": True,
        "training.gradient_accumulation_steps": 4,
        "distributed.sync_each_batch": True,
    }


def test_the_method_of_a_trainer_of_trl() -> None:
    base = type("Trainer", (), {"__module__": "transformers.trainer"})
    dpo = type("DPOTrainer", (base,), {"__module__": "trl.trainer.dpo_trainer"})
    own = type("MyTrainer", (dpo,), {"__module__": "__main__"})
    assert [live_facts.method_of(one()) for one in (base, dpo, own)] == [None, "dpo", "dpo"]
