"""Whether padding is the end of a sequence, where the name of the model says which tokens its tokenizer has."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.presumptions.padding_tokens import FILLED, padding

PLACE = Location(path="train.py", line=3)
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
LOADS = "transformers.AutoTokenizer.from_pretrained"


@pytest.mark.parametrize(
    ("stated", "presumed"),
    [
        ({}, None),
        ({"model.name": "Qwen/Qwen2.5-7B-Instruct"}, False),
        ({"model.name": "Qwen/Qwen3-8B"}, False),
        ({"model.name": "Qwen/Qwen2.5-7B"}, None),  # its chat template ends with another token
        ({"model.name": "Qwen/Qwen3-8B-Base"}, None),
        ({"model.name": "google/gemma-2-9b-it"}, False),
        ({"model.name": "unsloth/Llama-3.2-1B-Instruct"}, False),
        ({"model.name": "HuggingFaceH4/zephyr-7b-beta"}, True),
        ({"model.name": "somebody/zephyr-7b-beta"}, None),
        ({"model.name": LLAMA}, None),
        ({"model.name": LLAMA, "code.symbols": (LOADS, FILLED)}, True),
        ({"model.name": "Qwen/Qwen2.5-7B-Instruct", "code.symbols": (LOADS, FILLED)}, False),
        ({"model.name": LLAMA, "training.framework": "trl", "code.symbols": ("trl.SFTTrainer",)}, True),
        ({"model.name": LLAMA, "training.framework": "trl", "code.symbols": ("trl.SFTTrainer", LOADS)}, None),
        ({"model.name": LLAMA, "training.framework": "transformers.Trainer", "code.symbols": ("x.Trainer",)}, None),
        ({"model.name": None, "code.symbols": (FILLED,)}, None),
        ({"model.name": "Qwen/Qwen3-8B", "data.pad_is_eos": True}, None),  # a file says it
        ({"model.name": "Qwen/Qwen3-8B", "data.pad_is_eos": None}, None),
    ],
)
def test_by_the_name_of_the_model(stated: dict[str, SettingValue | None], presumed: bool | None) -> None:
    found = padding(Setting(key=key, value=value, location=PLACE) for key, value in stated.items())
    assert (None if found is None else found.value) is presumed
    if found is not None:
        assert (found.key, found.presumed, found.location) == ("data.pad_is_eos", True, PLACE)


def test_models_that_differ_say_nothing() -> None:
    names = ("Qwen/Qwen3-8B", "HuggingFaceH4/zephyr-7b-beta")
    assert padding(Setting(key="model.name", value=name, location=PLACE) for name in names) is None


@pytest.mark.parametrize(
    ("name", "status"), [("Qwen/Qwen2.5-7B-Instruct", "dormant"), (LLAMA, "affected"), ("my/model", "conditional")]
)
def test_a_padding_that_is_put_in_where_there_is_none(tmp_path: Path, name: str, status: str) -> None:
    (tmp_path / "requirements.txt").write_text("trl==0.15.2\ntransformers==4.49.0\n")
    (tmp_path / "train.py").write_text(
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
        "from trl import SFTConfig, SFTTrainer\n"
        f"tokenizer = AutoTokenizer.from_pretrained('{name}')\n"
        "if tokenizer.pad_token is None:\n"
        "    tokenizer.pad_token = tokenizer.eos_token\n"
        f"model = AutoModelForCausalLM.from_pretrained('{name}')\n"
        "SFTTrainer(model, args=SFTConfig('out'), train_dataset=data, processing_class=tokenizer).train()\n"
    )
    report = gradcompat.check(tmp_path, only=["GC-0021"])
    assert [one.finding.status for one in report.findings] == [status]
