"""The curves of real logs: what their owners complained of, and nothing in the healthy ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.diagnosis.curves import Curves
from gradcompat.diagnosis.metrics import parse_line

# File (its beginning), lines with metrics, and what they show. Read by eye, every one.
LOGS: tuple[tuple[str, int, list[str]], ...] = (
    ("2U1__Qwen-VL-Series-Finetune__issue-10", 2, ["loss-zero", "grad-norm-not-finite"]),
    ("InternLM__xtuner__issue-187", 6, ["grad-norm-not-finite"]),
    ("OpenBMB__MiniCPM-V__issue-212", 10, ["loss-zero", "grad-norm-not-finite"]),
    ("huggingface__transformers__issue-35207", 6, ["loss-too-high"]),
    ("hiyouga__LlamaFactory__issue-6639", 2, []),
    ("deepspeedai__DeepSpeed__issue-7653", 3, []),
    ("axolotl-ai-cloud__axolotl__issue-1717", 0, []),
    ("axolotl-ai-cloud__axolotl__issue-1813", 0, []),
    ("bitsandbytes-foundation__bitsandbytes__issue-717", 0, []),
    ("bitsandbytes-foundation__bitsandbytes__issue-966", 0, []),
    ("deepspeedai__DeepSpeed__issue-2569", 0, []),
    ("deepspeedai__DeepSpeed__issue-4873", 0, []),
    ("priya-dwivedi__Deep-Learning__issue-150", 0, []),
    ("sail-sg__closer-look-LLM-unlearning__issue-1", 0, []),
    # Healthy: fp16 overflows at first and after each doubling of the scale. 736 and 236 steps, else scales.
    ("microsoft__DeepSpeedExamples__83757d9c__applications__DeepSpeed-Chat__training__step1", 808, []),
    ("microsoft__DeepSpeedExamples__83757d9c__applications__DeepSpeed-Chat__training__step2", 527, []),
)


@pytest.mark.parametrize(("name", "count", "kinds"), LOGS, ids=[name[-30:] for name, _, _ in LOGS])
def test_a_log(corpus: Path, name: str, count: int, kinds: list[str]) -> None:
    (path,) = (corpus / "logs").glob(f"{name}*")
    curves = Curves()
    found = 0
    for number, line in enumerate(path.read_text("utf-8", "replace").split("\n"), 1):
        values = parse_line(line)
        if values is not None:
            curves.add(values, number)
            found += 1
    assert (found, [one.kind for one in curves.observations()]) == (count, kinds)


def test_every_log_is_here(corpus: Path) -> None:
    assert len(list((corpus / "logs").iterdir())) == len(LOGS)
