"""A program that loads a model of any name says by its auto class which classes the model may have."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat

PROGRAM = """\
import sys
import json
import torch
from transformers import AutoTokenizer, {auto}, Trainer, TrainingArguments
model = {auto}.from_pretrained(json.load(open(sys.argv[1]))["model"], torch_dtype=torch.bfloat16)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
{more}
Trainer(model, TrainingArguments("out", bf16=True, per_device_eval_batch_size=8, eval_strategy="epoch")).train()
"""
OWN = """\
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLForConditionalGeneration
other = Qwen2VLForConditionalGeneration.from_pretrained(sys.argv[2])
"""


def status(folder: Path, record: str, auto: str, more: str = "") -> str:
    (folder / "requirements.txt").write_text("torch==2.9.0\ntransformers==4.57.6\nunsloth\n", "utf-8")
    (folder / "train.py").write_text(PROGRAM.format(auto=auto, more=more), "utf-8")
    (one,) = gradcompat.check(folder, only=[record]).findings
    return one.finding.status


@pytest.mark.parametrize(
    ("auto", "more", "expected"),
    [
        ("AutoModelForCausalLM", "", "dormant"),
        ("AutoModelForSeq2SeqLM", "", "dormant"),
        ("AutoModelForImageTextToText", "", "conditional"),
        ("AutoModelForSequenceClassification", "", "conditional"),  # only causal models were looked at
        ("AutoModel", "", "conditional"),
        ("AutoModelForCausalLM", OWN, "conditional"),
        (
            "AutoModelForCausalLM",
            "from transformers import pipeline\npipeline('image-to-text', sys.argv[2])",
            "conditional",
        ),
        (
            "AutoModelForCausalLM",
            "from unsloth import FastModel\nFastModel.from_pretrained(sys.argv[2])",
            "conditional",
        ),
    ],
)
def test_classes_that_an_auto_class_never_gives(tmp_path: Path, auto: str, more: str, expected: str) -> None:
    """GC-0137 is about Qwen2-VL and others like it."""
    assert status(tmp_path, "GC-0137", auto, more) == expected


@pytest.mark.parametrize(
    ("auto", "expected"),
    [
        ("AutoModelForCausalLM", "affected"),
        ("AutoModelForTokenClassification", "affected"),
        ("AutoModelForSequenceClassification", "dormant"),
        ("AutoModelForSeq2SeqLM", "affected"),
        ("AutoModel", "conditional"),
    ],
)
def test_classes_that_an_auto_class_always_gives(tmp_path: Path, auto: str, expected: str) -> None:
    """GC-0332 is about models with a label for each token."""
    assert status(tmp_path, "GC-0332", auto) == expected
