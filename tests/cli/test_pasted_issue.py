"""An issue as it is pasted, with versions, the script, the config and the command between its fences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run

VERSIONS = """\
- `transformers` version: 4.47.0
- Accelerate version: 1.1.1
- PyTorch version (GPU?): 2.5.1+cu124 (True)
"""
SCRIPT = """\
The loss is eight times too large:

```python
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.2-1B")
args = TrainingArguments("out", gradient_accumulation_steps=8)
Trainer(model=model, args=args, train_dataset=data).train()
```
"""
CONFIG = """\
```yaml
base_model: meta-llama/Llama-3.2-1B
datasets: [{path: mine, type: alpaca}]
micro_batch_size: 1
sequence_len: 512
gradient_accumulation_steps: 8
```
"""
COMMAND = """\
```
$ torchrun --nproc_per_node 4 train.py --model_name_or_path meta-llama/Llama-3.2-1B \\
    --gradient_accumulation_steps 8
```
"""
SCALED = "GC-0015"


def affected(run: Run, *arguments: str, stdin: str = "") -> list[dict[str, Any]]:
    outcome = run("check", *arguments, "--format", "json", "--only", SCALED, stdin=stdin)
    return [one for one in json.loads(outcome.out)["findings"] if one["status"] == "affected"]


@pytest.mark.parametrize(("block", "line"), [(SCRIPT, 9), (CONFIG, 9), (COMMAND, 6)])
def test_what_stands_between_fences_is_the_run(run: Run, tmp_path: Path, block: str, line: int) -> None:
    (tmp_path / "issue.md").write_text(VERSIONS + block)
    assert affected(run, "issue.md")
    (tmp_path / "bare.md").write_text(VERSIONS)
    assert not affected(run, "bare.md")
    text = run("check", "issue.md").out
    assert "with issue.md (line " in text
    assert f"issue.md:{line})" in text or f"(line {line})" in text


def test_a_pasted_issue_on_standard_input(run: Run) -> None:
    assert affected(run, "-", stdin=VERSIONS + SCRIPT)


def test_an_issue_beside_a_lockfile(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.47.0\n")
    (tmp_path / "issue.md").write_text(SCRIPT)
    assert affected(run, "requirements.txt", "--context", "issue.md")
    (tmp_path / "bare.md").write_text(VERSIONS)
    refused = run("check", "requirements.txt", "--context", "bare.md")
    assert "bare.md: is not a training config" in refused.out
    assert refused.status == 3


def test_packages_that_stand_between_fences_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text(f"{SCRIPT}\n```\ntransformers==4.47.0\ntorch==2.5.1\n```\n")
    (finding,) = affected(run, "issue.md")
    assert finding["packages"][0]["line"] == 11


def test_prose_without_versions_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text("It does not train.\n\n```\nnothing here\n```\n")
    assert run("check", "issue.md").status == 2


def test_code_that_is_broken_takes_nothing_away(run: Run, tmp_path: Path) -> None:
    (tmp_path / "issue.md").write_text(f"{VERSIONS}```python\ntrainer = Trainer(\n...\n```\n{SCRIPT}")
    assert affected(run, "issue.md")


def test_diagnose_takes_the_config_of_the_issue(run: Run, tmp_path: Path) -> None:
    crash = "```\nImportError: Using the `Trainer` with `PyTorch` requires `accelerate>=0.26.0`: Please run\n```\n"
    (tmp_path / "issue.md").write_text(VERSIONS.replace("1.1.1", "0.25.0") + CONFIG + crash)
    outcome = run("diagnose", "issue.md")
    assert outcome.status == 1
    assert "GC-0298" in outcome.out
    assert "training.gradient_accumulation_steps 8 (issue.md:9)" in " ".join(outcome.out.split())


def test_fix_writes_nothing_into_an_issue(run: Run, tmp_path: Path) -> None:
    text = VERSIONS + SCRIPT
    (tmp_path / "issue.md").write_text(text)
    run("fix", "issue.md")
    assert (tmp_path / "issue.md").read_text() == text
