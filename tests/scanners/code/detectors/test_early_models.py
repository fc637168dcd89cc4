"""Models that are loaded in front of what tells transformers of DeepSpeed."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.early_models import early_model

MODEL = "model = AutoModelForCausalLM.from_pretrained(name)\n"
ARGUMENTS = "args = transformers.TrainingArguments('out')\n"


@pytest.mark.parametrize(
    "program",
    [
        MODEL + ARGUMENTS,
        MODEL + "SFTTrainer(model, args=SFTConfig('out'))",
        "def main():\n    model = Qwen3Model.from_pretrained(name)\n    accelerator = Accelerator()\n",
    ],
)
def test_the_model_stands_in_front(program: str) -> None:
    assert isinstance(early_model(ast.parse(program).body), ast.Call)


@pytest.mark.parametrize(
    "program",
    [
        ARGUMENTS + MODEL,
        ARGUMENTS + MODEL + ARGUMENTS,
        MODEL + ARGUMENTS + MODEL,
        MODEL,
        ARGUMENTS,
        "AutoTokenizer.from_pretrained(name)\n" + ARGUMENTS,
        "parser = HfArgumentParser(TrainingArguments)\n" + MODEL,
        "def load():\n    return AutoModel.from_pretrained(name)\n" + ARGUMENTS + "load()",
        MODEL + "config = LoraConfig(r=8)\n",
    ],
)
def test_it_does_not(program: str) -> None:
    assert early_model(ast.parse(program).body) is None
