"""Real logs: what each shows was judged by eye, and is written down here as facts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run

# File → status, steps with metrics, and the sentences and lines of all reasons. The excerpts have a few lines each.
JUDGED: dict[str, tuple[int, int, set[tuple[str, int]]]] = {
    # NaN behind the loss of 0.0 that a Trainer prints.
    "2U1__Qwen-VL-Series-Finetune__issue-10.txt": (
        1,
        2,
        {("loss is exactly 0 in 1 of 2 steps, after 1.045", 8), ("grad_norm is nan in 2 of 2 steps", 3)},
    ),
    "OpenBMB__MiniCPM-V__issue-212.txt": (
        1,
        10,
        {("loss is exactly 0 in 9 of 10 steps, after 1.078", 2), ("grad_norm is nan in 10 of 10 steps", 1)},
    ),
    # The norm is NaN and the loss, of mmengine, not yet.
    "InternLM__xtuner__issue-187.txt": (1, 6, {("grad_norm is nan in 2 of 6 steps", 5)}),
    # The loss is summed over the micro-batches; how many there are, the excerpt does not say.
    "huggingface__transformers__issue-35207.txt": (
        1,
        6,
        {("the first loss is 22.57, and a language model that knows nothing has 10 to 12.5", 1)},
    ),
    # A trainer of one's own that does not take num_items_in_batch.
    "sail-sg__closer-look-LLM-unlearning__issue-1.txt": (
        1,
        0,
        {("transformers passes an argument that the method does not take", 10)},
    ),
    # Cut before the error, or with an error that no record describes.
    "axolotl-ai-cloud__axolotl__issue-1717.txt": (3, 0, set()),
    "axolotl-ai-cloud__axolotl__issue-1813.txt": (3, 0, set()),
    "bitsandbytes-foundation__bitsandbytes__issue-717.txt": (3, 0, set()),
    "bitsandbytes-foundation__bitsandbytes__issue-966.txt": (0, 0, set()),
    "deepspeedai__DeepSpeed__issue-2569.txt": (3, 0, set()),
    "deepspeedai__DeepSpeed__issue-4873.txt": (3, 0, set()),
    "deepspeedai__DeepSpeed__issue-7653.txt": (3, 3, set()),
    "priya-dwivedi__Deep-Learning__issue-150.txt": (3, 0, set()),
    # Two steps that say nothing by themselves.
    "hiyouga__LlamaFactory__issue-6639.txt": (0, 2, set()),
}
HEALTHY = {"opt-1.3b-globalBatchSize128.log": 808, "opt-350M_globalBatchSize-32.log": 527}
UNEXPLAINED = {
    "axolotl-ai-cloud__axolotl__issue-1717.txt": (
        3,
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
    ),
    "bitsandbytes-foundation__bitsandbytes__issue-717.txt": (2, "Traceback (most recent call last):"),
    "deepspeedai__DeepSpeed__issue-2569.txt": (1, "Traceback (most recent call last):"),
    "deepspeedai__DeepSpeed__issue-7653.txt": (4, "Traceback (most recent call last):"),
    "axolotl-ai-cloud__axolotl__issue-1813.txt": (8, "torch.cuda.OutOfMemoryError: CUDA out of memory."),
    "deepspeedai__DeepSpeed__issue-4873.txt": (
        4,
        "RuntimeError: output tensor must have the same type as input tensor",
    ),
    "priya-dwivedi__Deep-Learning__issue-150.txt": (14, "MisconfigurationException: When overriding"),
}


@pytest.mark.parametrize("name", sorted(JUDGED))
def test_what_was_judged(corpus: Path, run: Run, name: str) -> None:
    outcome = run("diagnose", name, "--format", "json", cwd=corpus / "logs")
    data = json.loads(outcome.out)
    status, steps, reasons = JUDGED[name]
    assert (outcome.status, data["files"][0]["steps"]) == (status, steps)
    assert {(one["sentence"], one["line"]) for found in data["diagnoses"] for one in found["because"]} == reasons
    line, text = UNEXPLAINED.get(name, (0, ""))
    assert [(one["line"], one["text"][: len(text)]) for one in data["unexplained"]] == ([(line, text)] if text else [])


@pytest.mark.parametrize("ending", sorted(HEALTHY))
def test_healthy_logs_show_nothing(corpus: Path, run: Run, ending: str) -> None:
    (path,) = (corpus / "logs").glob(f"*{ending}")
    outcome = run("diagnose", path.name, "--format", "json", cwd=path.parent)
    data = json.loads(outcome.out)
    assert outcome.status == 0
    assert (data["diagnoses"], data["ruled_out"], data["unexplained"], data["skipped"]) == ([], [], [], [])
    assert data["files"][0]["steps"] == HEALTHY[ending]


def test_every_log_is_judged(corpus: Path) -> None:
    names = {path.name for path in (corpus / "logs").iterdir()}
    assert {name for name in names if not name.endswith(tuple(HEALTHY))} == JUDGED.keys()


@pytest.mark.parametrize(
    ("name", "line", "version"),
    [
        ("hiyouga__LlamaFactory__issue-6639.txt", 5, "transformers 4.46.1"),
        ("hiyouga__LlamaFactory__issue-7263.txt", 5, "transformers 4.46.1"),
        ("huggingface__transformers__issue-36331.txt", 1, "transformers 4.50.0.dev0"),
    ],
)
def test_environment_reports_are_read_in_logs(corpus: Path, run: Run, name: str, line: int, version: str) -> None:
    data = json.loads(run("diagnose", name, "--format", "json", cwd=corpus / "envinfo").out)
    assert (version, line) in [(one["sentence"], one["line"]) for one in data["versions"]]
    assert data["diagnoses"] == []
