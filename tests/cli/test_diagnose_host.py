"""What ``gradcompat diagnose`` takes from a log about device, versions and framework, and what that excludes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_diagnose_errors import issues, told
from tests.conftest import Run

KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def excluded(data: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {one["issue"]: one["sentence"] for one in data["ruled_out"]}


def test_the_name_of_the_gpu_decides(run: Run) -> None:
    torch = "PyTorch version: 2.5.1+cu124\n"
    assert set(issues(told(run, torch + KERNEL)[1])) == {"GC-0062"}
    _, data = told(run, torch + "GPU 0: NVIDIA GeForce RTX 5090\n" + KERNEL)
    assert issues(data) == ["GC-0062"]
    assert data["diagnoses"][0]["against"] == []
    status, data = told(run, torch + "GPU 0: NVIDIA A100-SXM4-80GB\n" + KERNEL)
    assert (status, issues(data)) == (3, [])
    assert excluded(data)["GC-0062"] == "host.cuda is 12.4 and host.cuda_arch is 8.0"


@pytest.mark.parametrize("line", ["Device: cpu\n", "GPU available: True (mps), used: True\n"])
def test_a_device_without_cuda_has_no_defects_of_cuda(run: Run, line: str) -> None:
    _, data = told(
        run,
        "PyTorch version: 2.5.1\n" + line + "UserWarning: " + "with CUDA capability sm_120 is not "
        "compatible with the current PyTorch installation\n",
    )
    assert issues(data) == []
    assert excluded(data)["GC-0062"].startswith("host.device is ")


def test_the_form_of_the_lines_names_the_framework(run: Run, tmp_path: Path) -> None:
    bar = "Epoch 3:  88%|###| 14/16 [00:00<00:00, 64.63it/s, v_num=0, loss=1.18]\n"
    _, data = told(run, bar)
    assert [one["sentence"] for one in data["settings"]] == ["training.framework lightning"]
    trainer = "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
    _, data = told(run, trainer)
    assert [one["sentence"] for one in data["settings"]] == ["training.framework transformers.Trainer or trl"]
    # Whoever states it knows better, without a word.
    _, data = told(run, trainer, "--set", "training.framework=trl")
    assert [(one["sentence"], one["path"]) for one in data["settings"]] == [("training.framework trl", "--set")]
    (tmp_path / "args.json").write_text('{"output_dir": "x", "per_device_train_batch_size": 1, "max_grad_norm": 1.0}')
    _, data = told(run, trainer, "--context", "args.json")
    assert [one["sentence"] for one in data["settings"] if "framework" in one["sentence"]] == [
        "training.framework transformers.Trainer"
    ]
    assert data["skipped"] == []


def test_an_environment_that_is_partly_read_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.46.1\ntorch =! what\n")
    status, data = told(run, "nothing to see\n", "--environment", "requirements.txt")
    assert status == 3
    assert [(one["path"], one["line"], one["gap"]) for one in data["skipped"]] == [("requirements.txt", 2, True)]
    assert [one["sentence"] for one in data["versions"]] == ["transformers 4.46.1"]


def test_an_environment_that_is_none_refuses_no_log(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pasted.txt").write_text("my setup\nit is broken\n")
    error = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn\n"
    status, data = told(run, error, "--environment", "pasted.txt")
    assert status == 1
    assert [(one["what"], one["reason"]) for one in data["skipped"]] == [
        ("pasted.txt", "is not in a format that gradcompat reads")
    ]
    assert [one["path"] for one in data["files"]] == ["-"]
    (tmp_path / "uv.lock").write_text("{")
    (tmp_path / "x.log").write_text(error)
    outcome = run("diagnose", "x.log", "uv.lock")
    assert (outcome.status, outcome.err) == (1, "")
    assert "not checked: uv.lock" in outcome.out
    assert run("diagnose", "x.log", "--environment", "missing").status == 2
