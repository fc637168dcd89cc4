"""What ``gradcompat diagnose`` says of the errors in a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import Run

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\n'
FRAME = '  File "/opt/lib/python3.11/site-packages/{}", line 10, in train\n'


def told(run: Run, text: str, *options: str) -> tuple[int, dict[str, Any]]:
    outcome = run("diagnose", "-", "--format", "json", *options, stdin=text)
    return outcome.status, json.loads(outcome.out)


def texts(data: dict[str, Any]) -> list[tuple[str, str | None, int]]:
    return [(one["sentence"], one["text"], one["line"]) for one in data["unexplained"]]


def issues(data: dict[str, Any]) -> list[str | None]:
    return [one["issue"] for one in data["diagnoses"]]


def test_an_unexplained_crash_is_incomplete(run: Run) -> None:
    status, data = told(run, TRACEBACK + "ValueError: my own\n")
    assert (status, data["exit_status"]) == (3, 3)
    assert texts(data) == [("an error", "ValueError: my own", 4)]


def test_each_error_is_listed_behind_its_prefix(run: Run) -> None:
    status, data = told(
        run,
        "E   ImportError: cannot import name 'nobody_has_it' from 'transformers.pytorch_utils'\n"
        "[default0]:[rank0]: ValueError: one\n"
        "2025-01-02 03:04:05,678 - ERROR - KeyError: 'two'\n",
    )
    assert status == 3
    assert [text for _, text, _ in texts(data)] == [
        "ImportError: cannot import name 'nobody_has_it' from 'transformers.pytorch_utils'",
        "ValueError: one",
        "KeyError: 'two'",
    ]


def test_a_traceback_that_is_cut_is_said(run: Run) -> None:
    status, data = told(run, TRACEBACK)
    assert status == 3
    assert texts(data) == [("a traceback with no line that names an error", "Traceback (most recent call last):", 1)]


def test_an_echo_is_said_where_nothing_else_is(run: Run) -> None:
    echo = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    status, data = told(run, TRACEBACK + echo + "\n")
    assert status == 3
    assert texts(data) == [("another process failed, and this log does not show why", echo, 4)]
    _, data = told(run, TRACEBACK + "ValueError: why\n" + TRACEBACK + echo + "\n")
    assert [text for _, text, _ in texts(data)] == ["ValueError: why"]


def test_more_errors_than_are_kept_are_said(run: Run) -> None:
    _, data = told(run, "".join(f"ValueError: number {number}\n" for number in range(50)))
    assert len(data["unexplained"]) == 20
    assert [one["reason"] for one in data["skipped"]] == ["has more than 20 different errors: the rest are not listed"]


def test_an_error_that_says_nan_is_recognised(run: Run) -> None:
    status, data = told(
        run,
        "(worker1, rank=1) [rank13]: RuntimeError: Rank 13, node w1, device 5, iteration 1: Unexpected result nan "
        "(message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication')\n",
    )
    assert (status, texts(data)) == (1, [])
    assert data["diagnoses"][0]["title"].startswith("The run has gone to NaN")
    assert [(one["sentence"], one["line"]) for one in data["diagnoses"][0]["because"]] == [
        ("an error says that a loss or a gradient is not finite", 1)
    ]


ILLEGAL = "RuntimeError: CUDA error: an illegal memory access was encountered\n"


def test_an_error_of_the_cuda_runtime_names_no_package_that_is_not_there(run: Run) -> None:
    for text in (ILLEGAL, TRACEBACK + FRAME.format("transformers/trainer.py") + ILLEGAL):
        status, data = told(run, text)
        assert (status, issues(data), len(texts(data))) == (3, [], 1)
    assert issues(told(run, TRACEBACK + FRAME.format("mamba_ssm/ops/triton/ssd_combined.py") + ILLEGAL)[1]) == [
        "GC-0156"
    ]
    assert issues(told(run, "Successfully installed mamba-ssm-2.2.2 torch-2.4.0\n" + ILLEGAL)[1]) == ["GC-0156"]
    assert issues(told(run, "torch.AcceleratorError: CUDA error: device-side assert triggered\n")[1]) == []


def test_a_package_that_a_closed_environment_lacks_is_ruled_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pip.txt").write_text("Package Version\n------- -------\nnumpy   2.3.0\ntorch   2.9.0\n")
    error = "huggingface-hub>=0.30.0,<1.0 is required for a normal functioning of this module\n"
    assert issues(told(run, error)[1]) == ["GC-0036"]
    _, data = told(run, error, "--environment", "pip.txt")
    assert issues(data) == []
    assert [(one["issue"], one["sentence"]) for one in data["ruled_out"]] == [
        ("GC-0036", "transformers and huggingface-hub are not in pip.txt")
    ]


UNEXPECTED = "TypeError: {}compute_loss() got an unexpected keyword argument 'num_items_in_batch'\n"


def test_a_method_of_somebodys_own_is_not_cured_by_a_newer_trl(run: Run) -> None:
    status, data = told(run, TRACEBACK + FRAME.format("transformers/trainer.py") + UNEXPECTED.format("MyTrainer."))
    assert (status, issues(data), texts(data)) == (1, [None], [])
    assert data["diagnoses"][0]["title"] == (
        "A subclass of a Trainer overrides a method as an older transformers called it"
    )
    for name in ("DPOTrainer.", "SentenceTransformerTrainer.", ""):  # before Python 3.10 without the class
        assert issues(told(run, UNEXPECTED.format(name))[1]) == ["GC-0030"]
    assert issues(told(run, "TypeError: Mine.log() takes 2 positional arguments but 3 were given\n")[1]) == [None]


SUMMED = (
    "Successfully installed torch-2.5.1 transformers-4.47.0 accelerate-1.2.0\n"
    "Instantaneous batch size per device = 1\n"
    "  Gradient Accumulation steps = 8\n"
    'Model config LlamaConfig {\n  "architectures": ["LlamaForCausalLM"],\n  "model_type": "llama",\n'
    '  "transformers_version": "4.47.0"\n}\n'
) + "".join(
    f"{{'loss': {16.42 - step / 3:.4f}, 'grad_norm': {24 - step}.1, 'learning_rate': 4e-05, 'epoch': 0.{step}}}\n"
    for step in range(1, 7)
)


def test_the_direction_and_the_factor_of_what_is_seen_rank(run: Run) -> None:
    found = issues(told(run, SUMMED)[1])
    assert found[:2] == [None, "GC-0015"]
    assert "GC-0073" not in found  # makes the loss smaller
