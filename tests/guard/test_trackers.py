"""What trackers of experiments get of the guard, in toy modules; and in the real ones, where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gradcompat.guard import trackers
from gradcompat.guard.findings import Finding
from tests.guard.steps import gradients, step
from tests.guard.test_training import loop, train
from tests.probes.really import SKIPPED_WITHOUT


def module(monkeypatch: pytest.MonkeyPatch, name: str, **attributes: object) -> None:
    made = ModuleType(name)
    vars(made).update(attributes)
    monkeypatch.setitem(sys.modules, name, made)


def test_numbers_have_names_of_their_own() -> None:
    finding = Finding("objective weight", "error", "text", {"weight": 4.0, "mixes": True, "kind": "sum"})
    assert trackers.of_findings([finding]) == {
        "gradcompat/objective_weight/weight": 4.0,
        "gradcompat/objective_weight/mixes": 1.0,
    }
    assert trackers.of_step(step(0.5, 0.5, gradients=gradients(1.0))) == {
        "gradcompat/objective_weight": 1.0,
        "gradcompat/loss": 2.0,
        "gradcompat/gradient_norm": 1.0,
    }


def test_a_tracker_without_an_active_run_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trackers.log("text", {"a": 1.0}, 1) == {}
    module(monkeypatch, "wandb", run=None)
    module(monkeypatch, "mlflow", active_run=lambda: None)
    closed: Any = type("SummaryWriter", (), {"file_writer": None})
    module(monkeypatch, "torch.utils.tensorboard.writer", SummaryWriter=closed)
    writer = closed()
    assert trackers.log("text", {"a": 1.0}, 1) == {}
    assert vars(writer) == {}


def test_a_summary_of_wandb_moves_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    summary: dict[str, object] = {}
    module(monkeypatch, "wandb", run=SimpleNamespace(summary=summary))
    assert trackers.log("text", {"gradcompat/loss": 2.0}, 2) == {}
    assert summary == {"gradcompat": "text", "gradcompat/loss": 2.0}


def test_a_tracker_that_fails_is_told_and_the_others_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    summary: dict[str, object] = {}
    module(monkeypatch, "wandb", run=SimpleNamespace(summary=summary))

    def away() -> None:
        raise ConnectionError("no server\nat all")

    module(monkeypatch, "mlflow", active_run=away)
    assert trackers.log("text", {}, 1) == {"MLflow": "ConnectionError: no server"}
    assert summary == {"gradcompat": "text"}


REAL = """
import os, sys
os.environ.update(MLFLOW_ALLOW_FILE_STORE="true", WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DIR=".")
tracker = sys.argv[1]
if tracker == "tensorboard":
    from torch.utils.tensorboard import SummaryWriter
    writer = SummaryWriter("events")
elif tracker == "mlflow":
    import mlflow
    mlflow.set_tracking_uri("file:runs")
    mlflow.start_run()
else:
    import wandb
    run = wandb.init(project="guard")
"""
READ = {
    "tensorboard": """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator("events").Reload()
print(events.Scalars("gradcompat/accumulated_gradient/lowest")[0].value < 1)
print("the optimizer gets" in events.Tensors("gradcompat/text_summary")[0].tensor_proto.string_val[0].decode())
""",
    "mlflow": """
run = mlflow.get_run(mlflow.active_run().info.run_id)
print(run.data.metrics["gradcompat/accumulated_gradient/lowest"] < 1)
print("the optimizer gets" in run.data.tags["gradcompat"])
""",
    "wandb": """
print(run.summary["gradcompat/accumulated_gradient/lowest"] < 1)
print("the optimizer gets" in run.summary["gradcompat"])
""",
}


@pytest.mark.probe
@SKIPPED_WITHOUT
@pytest.mark.parametrize("tracker", list(READ))
def test_the_real_trackers(tmp_path: Path, tracker: str) -> None:
    """In the interpreter under test or its layers; a tracker that is not there is not tried."""
    absent = f"import importlib.util, sys\nif importlib.util.find_spec({tracker!r}) is None:\n    sys.exit(77)\n"
    script = absent + REAL + loop(steps=3, between="if micro == 1: optimizer.zero_grad()") + READ[tracker]
    trained = train(script, tmp_path, "train.py", tracker, GRADCOMPAT_GUARD_ON_DEFECT="warn")
    if trained.status == 77:
        pytest.skip(f"{tracker} is not installed")
    assert trained.out.splitlines()[-2:] == ["True", "True"], trained.err
    assert "got nothing" not in trained.err
