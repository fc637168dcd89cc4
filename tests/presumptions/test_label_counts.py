"""Where a sample has one label, micro-batches do not differ in how many count; a file that says so is not overruled."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.presumptions.label_counts import equal_labels

PLACE = Location(path="train.py", line=3)
CAUSAL = ("transformers.AutoModelForCausalLM", "transformers.AutoModelForCausalLM.from_pretrained")
CLASSES = ("transformers.AutoModelForSequenceClassification", "transformers.Trainer")


@pytest.mark.parametrize(
    ("stated", "equal"),
    [
        ({}, False),
        ({"training.method": "dpo"}, True),
        ({"training.method": "sft"}, False),
        ({"training.method": "orpo"}, False),  # adds the mean over tokens
        ({"training.beta": 0.1}, True),
        ({"training.beta": 0.1, "training.method": "gkd"}, False),
        ({"model.architecture": ("BertForSequenceClassification",)}, True),
        ({"model.architecture": ("BertForTokenClassification",)}, False),
        ({"model.architecture": ("LlamaForCausalLM",)}, False),
        ({"model.architecture": ("Wav2Vec2ForCTC",)}, True),
        ({"code.symbols": CLASSES}, True),
        ({"code.symbols": ("transformers.CLIPModel", "transformers.Trainer")}, True),
        ({"code.symbols": ("transformers.CLIPModel", "transformers.GPT2LMHeadModel")}, False),
        (
            {"code.symbols": ("transformers.DataCollatorForLanguageModeling", "transformers.PatchTSTForPrediction")},
            True,
        ),
        ({"code.symbols": (*CLASSES, *CAUSAL)}, False),
        ({"code.symbols": CLASSES, "data.unequal_labels": True}, False),
        ({"training.method": "dpo", "data.unequal_labels": None}, False),
    ],
)
def test_by_what_is_trained(stated: dict[str, SettingValue | None], equal: bool) -> None:
    found = equal_labels(Setting(key=key, value=value, location=PLACE) for key, value in stated.items())
    assert (found is not None) is equal
    if found is not None:
        assert (found.key, found.value, found.presumed, found.location) == ("data.unequal_labels", False, True, PLACE)


@pytest.mark.parametrize(
    ("loading", "status"),
    [("AutoModelForSequenceClassification", "dormant"), ("AutoModelForCausalLM", "affected")],
)
def test_a_classifier_is_not_told_that_its_tokens_weigh_unequally(tmp_path: Path, loading: str, status: str) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.44.2\n")
    (tmp_path / "train.py").write_text(
        f"from transformers import {loading}, Trainer, TrainingArguments\n"
        f"model = {loading}.from_pretrained('some/model')\n"
        "args = TrainingArguments('out', gradient_accumulation_steps=8)\n"
        "Trainer(model, args).train()\n"
    )
    report = gradcompat.check(tmp_path, only=["GC-0005"])
    assert [one.finding.status for one in report.findings] == [status]
    stated = gradcompat.check(tmp_path, only=["GC-0005"], settings={"data.unequal_labels": True})
    assert [one.finding.status for one in stated.findings] == ["affected"]
