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
        "def load():\n    return AutoModel.from_pretrained(name)\nmodel = load()\n" + ARGUMENTS,
        "def told():\n    return TrainingArguments('o')\n" + MODEL + "args = told()\n",
        "class Run:\n    def __init__(self):\n        self.model = AutoModel.from_pretrained(name)\n"
        "    def train(self):\n        Trainer(self.model, TrainingArguments('o'))\nRun().train()\n",
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
        # by a function that is called twice, or handed on
        "def load():\n    return AutoModel.from_pretrained(name)\nmodel = load()\n" + ARGUMENTS + "other = load()\n",
        "def load():\n    return AutoModel.from_pretrained(name)\nlater(load)\n" + ARGUMENTS,
    ],
)
def test_it_does_not(program: str) -> None:
    assert early_model(ast.parse(program).body) is None
