"""The command that makes the table of trials: what it runs again, in which order, and what it says of older rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import guard_trials.__main__ as command

    yield command
    for name in [name for name in sys.modules if name.partition(".")[0] == "guard_trials"]:
        del sys.modules[name]


@dataclass(frozen=True)
class Cell:
    """As much of a cell as the command looks at."""

    name: str
    stack: str = "torch 2.13.0"
    detectors: tuple[str, ...] = ()
    way: str = "Guard"
    what: str = "plain"
    ratio: float | None = None
    records: tuple[str, ...] | None = None
    job: dict[str, Any] = field(default_factory=dict)

    @property
    def healthy(self) -> bool:
        return not self.detectors


def test_rows_of_other_code_are_run_again(trials: Any) -> None:
    cells = [Cell("today"), Cell("other day"), Cell("other code"), Cell("unknown code"), Cell("never run")]
    kept = {
        "today": {"engine": "abc1234, 2026-11-23"},
        "other day": {"engine": "abc1234, 2026-11-22"},
        "other code": {"engine": "def5678, 2026-11-23"},
        "unknown code": {},
    }
    again = trials.outdated(cells, kept, "abc1234, 2026-11-23")
    assert [cell.name for cell in again] == ["other code", "unknown code", "never run"]
    # Files that git does not know yet may be anything.
    assert len(trials.outdated(cells, kept, "abc1234+, 2026-11-23")) == 5


def test_affected_cells_come_first_and_one_stack_after_the_other(trials: Any) -> None:
    healthy = [Cell(f"h{place}", "a" if place % 2 else "b") for place in range(26)]
    affected = [Cell("x", "c", ("labels",)), Cell("y", "a", ("labels",))]
    order = list(trials.batches([*healthy, Cell("engine of deepspeed", "d"), *affected], "deepspeed"))
    assert [[cell.name for cell in some] for some in order[:3]] == [["engine of deepspeed"], ["x"], ["y"]]
    assert [len(some) for some in order[3:]] == [12, 1, 12, 1]
    assert all(len({cell.stack for cell in some}) == 1 for some in order)


def test_the_table_says_how_many_rows_are_of_the_code_at_hand(trials: Any) -> None:
    engines = ["abc1234, 2026-11-23", "abc1234, 2026-11-22", "def5678, 2026-11-22", ""]
    rows = [trials.Outcome(Cell(f"c{place}"), {"same": True, "engine": one}) for place, one in enumerate(engines)]
    said = trials.table(rows, "abc1234, 2026-11-23").split("\n\n")[1]
    assert said.startswith("2 of 4 rows were run with the code of the guard that ")
    assert said.endswith("; the others are of earlier code: def5678 (1), an earlier one (1).")
    assert trials.table(rows[:2], "abc1234, 2026-11-23").split("\n\n")[1].endswith("when this table was written.")
