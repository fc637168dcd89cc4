"""Adapters that a trainer of TRL gets although they were loaded frozen."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.python_code import scan

_HEAD = """\
from peft import AutoPeftModelForCausalLM, LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer
base = AutoModelForCausalLM.from_pretrained("gpt2")
"""
_WRAPPED = "model = get_peft_model(base, LoraConfig())\n"


def is_frozen(text: str) -> bool:
    settings = scan(Document("x.py", _HEAD + text)).settings
    values = [one.value for one in settings if one.key == "code.symbols"]
    return any("trl.GRPOTrainer.frozen_adapter" in value for value in values if isinstance(value, tuple))


@pytest.mark.parametrize(
    "text",
    [
        'model = PeftModel.from_pretrained(base, "sft")\nGRPOTrainer(model=model, args=args).train()',
        'model = PeftModel.from_pretrained(base, "sft", is_trainable=False)\nGRPOTrainer(model, args=args).train()',
        'GRPOTrainer(AutoPeftModelForCausalLM.from_pretrained("sft"), args=args).train()',
    ],
)
def test_adapters_that_are_loaded_to_be_used(text: str) -> None:
    assert is_frozen(text)


@pytest.mark.parametrize(
    "text",
    [
        'model = PeftModel.from_pretrained(base, "sft", is_trainable=True)\nGRPOTrainer(model, args=args).train()',
        'model = PeftModel.from_pretrained(base, "sft", is_trainable=TRAINS)\nGRPOTrainer(model, args=args).train()',
        'model = PeftModel.from_pretrained(base, "sft", **options)\nGRPOTrainer(model, args=args).train()',
        'model = PeftModel.from_pretrained(base, "sft").merge_and_unload()\nGRPOTrainer(model, args=args).train()',
        'model = PeftModel.from_pretrained(base, "sft")\nmodel = model.merge_and_unload()\nGRPOTrainer(model).train()',
        'GRPOTrainer(base).train()\nmodel = PeftModel.from_pretrained(base, "out")',
        "GRPOTrainer(get_peft_model(base, LoraConfig())).train()",
        'model = PeftModel.from_pretrained(base, "sft")\nfor p in model.parameters():\n    p.requires_grad = True\n'
        "GRPOTrainer(model).train()",
    ],
)
def test_adapters_that_are_trained(text: str) -> None:
    assert not is_frozen(text)


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (f"{_WRAPPED}GRPOTrainer(model).train()", "lora"),
        (
            "model = get_peft_model(base, LoraConfig())\nmodel = model.merge_and_unload()\nGRPOTrainer(model).train()",
            "none",
        ),
        (
            "model = get_peft_model(base, LoraConfig())\nGRPOTrainer(model).train()\nmodel = model.merge_and_unload()",
            "lora",
        ),
        (
            'model = PeftModel.from_pretrained(base, "sft").merge_and_unload()\n'
            "GRPOTrainer(model, peft_config=LoraConfig()).train()",
            "lora",
        ),
        (
            f"{_WRAPPED}GRPOTrainer(model).train()\nwhole = model.merge_and_unload()\nGRPOTrainer(whole).train()",
            "lora",
        ),
    ],
)
def test_a_model_that_an_adapter_was_merged_into(text: str, method: str) -> None:
    settings = scan(Document("x.py", _HEAD + text)).settings
    assert {one.value for one in settings if one.key == "peft.method"} == {method}
