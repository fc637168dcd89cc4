"""Defects of one trainer are not told to those who train with another loop."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat

ACCELERATE_LOOP = """
from accelerate import Accelerator
from transformers import LlamaForCausalLM
import torch

accelerator = Accelerator(gradient_accumulation_steps=4)
model = LlamaForCausalLM.from_pretrained("model")
optimizer = torch.optim.AdamW(model.parameters())
model, optimizer = accelerator.prepare(model, optimizer)
for batch in batches:
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
"""

TORCH_LOOP = """
import torch
from transformers import AdamW, AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("model")
optimizer = AdamW(model.parameters())
for batch in batches:
    torch.mean(model(**batch).loss).backward()
    optimizer.step()
"""

VISION_LOOP = ACCELERATE_LOOP.replace("LlamaForCausalLM", "LlavaForConditionalGeneration")
T5_LOOP = ACCELERATE_LOOP.replace("LlamaForCausalLM", "T5ForConditionalGeneration")
REPLICAS = TORCH_LOOP.replace("AutoModelForCausalLM", "LlamaForCausalLM").replace(
    "optimizer =", "model = torch.nn.DataParallel(model)\noptimizer ="
)


@pytest.mark.parametrize(
    ("script", "packages"),
    [
        (ACCELERATE_LOOP, ("transformers==5.3.0", "accelerate==1.13.0")),  # GC-0182
        (ACCELERATE_LOOP, ("transformers==4.48.0", "accelerate==1.4.0")),  # GC-0015
        (TORCH_LOOP, ("transformers==4.40.0", "pytorch-lightning==2.0.6")),  # GC-0009
        (TORCH_LOOP, ("transformers==4.46.3", "sentence-transformers==3.2.1")),  # GC-0030
        (TORCH_LOOP, ("transformers==4.39.3", "accelerate==1.1.0")),  # GC-0034
        (VISION_LOOP, ("transformers==4.49.0", "accelerate==1.4.0")),  # GC-0004
        (VISION_LOOP, ("transformers==4.48.3", "accelerate==1.4.0")),  # GC-0005
        (T5_LOOP, ("transformers==5.0.0", "accelerate==1.13.0")),  # GC-0184, GC-0006
        (REPLICAS, ("transformers==4.49.0",)),  # GC-0073
    ],
)
def test_a_loop_without_that_trainer_gets_no_error(tmp_path: Path, script: str, packages: tuple[str, ...]) -> None:
    (tmp_path / "requirements.txt").write_text("\n".join(("torch==2.5.1", *packages)) + "\n", "utf-8")
    (tmp_path / "train.py").write_text(script, "utf-8")
    report = gradcompat.check(tmp_path)
    affected = [one for one in report.findings if one.finding.status == "affected"]
    assert [one.finding.issue.id for one in affected if one.finding.issue.level == "error"] == []
    assert "GC-0005" not in {one.finding.issue.id for one in affected}


def test_the_trainer_that_is_listed_beside_accelerate_is_presumed(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("torch==2.5.1\ntransformers==4.49.0\naccelerate==1.4.0\n", "utf-8")
    stated: dict[str, int | str] = {
        "training.gradient_accumulation_steps": 8,
        "model.architecture": "LlavaForConditionalGeneration",
    }
    report = gradcompat.check(path, settings=stated)
    affected = {one.finding.issue.id for one in report.findings if one.finding.status == "affected"}
    assert "GC-0004" in affected
    code = tmp_path / "train.py"
    code.write_text(TORCH_LOOP.replace("AdamW, ", ""), "utf-8")
    report = gradcompat.check(tmp_path, settings=stated)
    assert "GC-0004" not in {one.finding.issue.id for one in report.findings}
