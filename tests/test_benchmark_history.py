"""The history of the benchmarks: every run is kept, and what became a third worse is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import history

    yield history
    del sys.modules["history"]


def test_a_run_is_compared_with_the_best_of_the_last_ten(history: Any, tmp_path: Path) -> None:
    kept = tmp_path / "history.jsonl"
    for ratio in (1.0, *[3.0] * 9):
        history.record({"check / parse": ratio}, kept)
    (warning,) = history.record({"check / parse": 1.4, "new": 9.0}, kept)
    assert warning.startswith("warning: check / parse: 1.40, and 1.00 at ")
    assert history.record({"check / parse": 1.8}, kept) == []  # the best is eleven runs away: the next one is 1.4
    assert len(kept.read_text("utf-8").splitlines()) == 12


def test_machines_are_not_compared_with_one_another(history: Any, tmp_path: Path) -> None:
    kept = tmp_path / "history.jsonl"
    history.record({"check / parse": 1.0}, kept)
    (run,) = map(json.loads, kept.read_text("utf-8").splitlines())
    assert set(run) == {"date", "commit", "machine", "ratios"}
    kept.write_text(json.dumps({**run, "machine": "another"}) + "\n", "utf-8")
    assert history.record({"check / parse": 9.0}, kept) == []
