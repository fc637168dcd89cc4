"""``gradcompat diagnose`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"

TRAINER = "".join(
    f"{{'loss': {2.5 - step / 50:.4f}, 'grad_norm': {1 + step % 7 / 10}, 'learning_rate': 2e-05, "
    f"'epoch': {step / 100}}}\n"
    for step in range(1, 60)
)
MASKED = "{'loss': 1.0778, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 0.0}\n" + "".join(
    f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': {step}e-07, 'epoch': {step / 100}}}\n" for step in range(1, 10)
)


def test_a_healthy_log(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("- `transformers` version: 4.46.1\n" + TRAINER)
    outcome = run("diagnose", "train.log")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(
        "train.log: log, 60 lines, 59 steps with metrics\n  with transformers 4.46.1 (line 1)\n\nnothing recognised ("
    )


def test_a_masked_nan(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(MASKED)
    outcome = run("diagnose", "train.log", "--format", "json")
    assert outcome.status == 1
    first = json.loads(outcome.out)["diagnoses"][0]
    assert first["harmless"] is False
    zero = first["because"][0]
    assert (zero["sentence"], zero["path"], zero["line"]) == (
        "loss is exactly 0 in 9 of 10 steps, after 1.078",
        "train.log",
        2,
    )


def test_a_trainer_state_shows_the_same(run: Run, tmp_path: Path) -> None:
    history = [{"loss": 1.07, "grad_norm": float("nan"), "epoch": 0.0, "step": 1}]
    history += [{"loss": 0.0, "grad_norm": float("nan"), "epoch": step / 10, "step": step} for step in range(2, 12)]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"log_history": history}, indent=1))
    outcome = run("diagnose", "trainer_state.json")
    assert outcome.status == 1
    assert "trainer_state.json: JSON, 11 steps with metrics" in outcome.out
    assert "loss is exactly 0 in 10 of 11 steps" in outcome.out


def test_the_prints_of_reentrant_checkpointing_are_harmless(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("before .to: requires_grad=True\nafter .to: requires_grad=False\n")
    outcome = run("diagnose", "x.log")
    assert outcome.status == 0
    assert "Nothing to worry about:\n\n- GC-0003: requires_grad prints False" in outcome.out
    assert "x.log:2  after .to: requires_grad=False" in outcome.out


ERROR = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn\n"


def test_the_environment_rules_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(ERROR)
    (tmp_path / "pip.txt").write_text(
        "Package      Version\n------------ -------\ntransformers 5.0.0\ntorch        2.9.0\n"
    )
    outcome = run("diagnose", "x.log", "--environment", "pip.txt")
    assert "Looks like these, and cannot be:\n" in outcome.out
    assert "transformers 5.0.0 (pip.txt:3) is not in <5.0.0" in outcome.out.replace("\n    ", " ")


def test_the_log_knows_better_than_the_environment(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("- `transformers` version: 4.57.6\n" + ERROR)
    (tmp_path / "pip.txt").write_text(
        "Package      Version\n------------ -------\ntransformers 5.0.0\ntorch        2.9.0\n"
    )
    outcome = run("diagnose", "x.log", "--environment", "pip.txt")
    assert "note: pip.txt:3: transformers: is 5.0.0 there, and 4.57.6 in x.log:1, which counts" in outcome.out
    assert "transformers 4.57.6 is in <5.0.0 (x.log:1)" in outcome.out


def test_facts_decide(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("- `transformers` version: 4.57.6\n- PEFT version: 0.18.0\n" + ERROR)
    asked = run("diagnose", "x.log").out
    assert "--set training.use_reentrant=…" in asked.replace("\n            ", " ")
    stated = run(
        "diagnose", "x.log", "--set", "training.use_reentrant=false", "--set", "training.frozen_embeddings=false"
    ).out
    assert "what is known of the run does not fit it" in stated.replace("\n    ", " ")


def test_standard_input(run: Run) -> None:
    outcome = run("diagnose", "-", stdin=ERROR)
    assert outcome.status == 1
    assert "-:1  RuntimeError: element 0 of tensors" in outcome.out
    assert run("diagnose", "-", stdin=MASKED.encode("utf-16")).status == 1


def test_what_cannot_be_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "good.log").write_text(TRAINER)
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "old.log.gz").write_bytes(b"\x1f\x8b\x08\0" + bytes(100))
    assert run("diagnose", "missing").err == "error: `missing`: there is no such file\n"
    assert run("diagnose", "missing").status == 2
    assert run("diagnose", "binary.log").err == "error: `binary.log`: is binary, not a log\n"
    assert run("diagnose", "old.log.gz").err == (
        "error: `old.log.gz`: is compressed\n\nhint: `gzip -dc old.log.gz | gradcompat diagnose -` reads it\n"
    )
    assert run("diagnose", ".").err == ("error: `.`: is a folder, not a file\n\nhint: to read from a pipe, use `-`\n")
    outcome = run("diagnose", "good.log", "missing", "empty.log")
    assert outcome.status == 3
    assert "not checked: missing: there is no such file\n  not checked: empty.log: is empty\n" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "xml"), "`--format xml` is not known"),
        (("--set", "no.such=1"), "`no.such` is no setting that is known here"),
        (("--environment", "missing"), "`missing`: there is no such file or folder"),
    ],
)
def test_wrong_usage(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "good.log").write_text(TRAINER)
    outcome = run("diagnose", "good.log", *arguments)
    assert outcome.status == 2
    assert message in outcome.err


def test_tensorboard_and_tables(run: Run, tmp_path: Path) -> None:
    rows = ["step,loss,grad_norm", "1,1.07,nan", *(f"{step},nan,nan" for step in range(2, 12))]
    (tmp_path / "metrics.csv").write_text("\n".join(rows) + "\n")
    outcome = run("diagnose", "metrics.csv")
    assert outcome.status == 1
    assert "metrics.csv: CSV, 11 steps with metrics" in outcome.out
    assert "1. The run has gone to NaN" in outcome.out
    rows = [json.dumps({"current_steps": step, "loss": 2.0 - step / 50, "lr": 1e-5}) for step in range(1, 30)]
    (tmp_path / "trainer_log.jsonl").write_text("\n".join(rows) + "\n")
    outcome = run("diagnose", "trainer_log.jsonl")
    assert (outcome.status, outcome.out.partition("\n")[0]) == (
        0,
        "trainer_log.jsonl: JSON lines, 29 steps with metrics",
    )


def test_an_event_file(run: Run) -> None:
    outcome = run("diagnose", "tensorboardx-2.6.5.tfevents", cwd=LOGS)
    assert outcome.status == 1
    assert outcome.out.startswith("tensorboardx-2.6.5.tfevents: TensorBoard events, 12 steps with metrics\n\n")
    assert "grad_norm is nan in 3 of 12 steps (tensorboardx-2.6.5.tfevents)" in outcome.out
    piped = run("diagnose", "-", stdin=(LOGS / "tensorboardx-2.6.5.tfevents").read_bytes())
    assert (piped.status, piped.err) == (2, "error: `-`: is a TensorBoard event file, which has to be named\n")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("trainer-4.57.6-healthy.log", 0),
        ("trainer-5.23.0-healthy.log", 0),
        ("lightning-2.6.6-bar.log", 0),
        ("lightning-2.6.6-metrics.csv", 0),
        ("trainer-4.57.6-masked-nan.log", 1),
        ("trainer-5.23.0-masked-nan.log", 1),
        ("trainer_state-5.23.0-masked-nan.json", 1),
    ],
)
def test_logs_of_real_runs(run: Run, name: str, status: int) -> None:
    outcome = run("diagnose", name, cwd=LOGS)
    assert outcome.status == status, outcome.out
    assert ("nothing recognised" in outcome.out) == (status == 0)
    assert ("GC-0014: A loss of exactly 0.0" in outcome.out) == (status == 1)
