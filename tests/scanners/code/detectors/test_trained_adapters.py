"""Adapters that a trainer of TRL gets although they were loaded frozen."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

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


def symbols(text: str) -> set[str]:
    settings = scan(Document("x.py", _HEAD + text)).settings
    return {
        name for one in settings if one.key == "code.symbols" and isinstance(one.value, tuple) for name in one.value
    }


_LOADED = 'model = PeftModel.from_pretrained(base, "sft", is_trainable=True)\n'
_DPO = "from trl import DPOTrainer\n"


@pytest.mark.parametrize(
    "rest", ["model, args=args", "model=model, ref_model=None, args=args", "model, None, args=args"]
)
def test_an_adapter_that_is_trained_further_without_a_reference(rest: str) -> None:
    assert "trl.DPOTrainer.loaded_adapter" in symbols(_DPO + _LOADED + f"DPOTrainer({rest}).train()")


@pytest.mark.parametrize(
    "text",
    [
        _LOADED + "DPOTrainer(model, ref_model=base, args=args).train()",
        _LOADED + "DPOTrainer(model, base, args=args).train()",
        _LOADED + "DPOTrainer(model, args=args, peft_config=LoraConfig()).train()",
        _LOADED + "DPOTrainer(model, **options).train()",
        'model = PeftModel.from_pretrained(base, "sft").merge_and_unload()\nDPOTrainer(model, args=args).train()',
        "DPOTrainer(get_peft_model(base, LoraConfig()), args=args).train()",
        "DPOTrainer(base, args=args, peft_config=LoraConfig()).train()",
    ],
)
def test_an_adapter_that_is_new_or_has_a_reference(text: str) -> None:
    assert "trl.DPOTrainer.loaded_adapter" not in symbols(_DPO + text)


def test_an_adapter_that_is_loaded_into_a_wrapped_model() -> None:
    wrapped = "model = get_peft_model(base, LoraConfig())\n"
    name = "peft.PeftModel.from_pretrained.wrapped"
    assert name in symbols(wrapped + 'model = PeftModel.from_pretrained(model, "out")')
    assert name not in symbols(wrapped + 'model = PeftModel.from_pretrained(base, "out")')
    assert name not in symbols(wrapped + 'model = PeftModel.from_pretrained(model.merge_and_unload(), "out")')
    assert name not in symbols('model = PeftModel.from_pretrained(base, "out")\nmodel = get_peft_model(model, C)')
    load, anew = 'PeftModel.from_pretrained(model, "out")', 'AutoModelForCausalLM.from_pretrained("gpt2")'
    assert name not in symbols(f"{wrapped}model = {anew}\n{load}")
    assert name not in symbols(f"{wrapped}if fresh:\n    model = {anew}\n    {load}")
    assert name in symbols(f"{wrapped}if fresh:\n    model = {anew}\n{load}")
    assert name in symbols(f"model = {anew}\nmodel = get_peft_model(\n    model, LoraConfig()\n)\n{load}")


def test_a_state_dict_that_is_the_adapter_alone() -> None:
    name = "peft.get_peft_model_state_dict.as_state_dict"
    head = "from peft import get_peft_model_state_dict\nmodel = get_peft_model(base, LoraConfig())\n"
    replaced = (
        "old = model.state_dict\n"
        "model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old())).__get__(model, type(model))"
    )
    assert name in symbols(head + replaced)
    assert name not in symbols(head + 'torch.save(get_peft_model_state_dict(model), "adapter.pt")')
    assert name not in symbols(head + "weights.state_dict = get_weights(model)")


@pytest.mark.parametrize(
    ("folder", "arguments"),
    [
        ('"dpo/checkpoint-500"', 'DPOConfig(output_dir="elsewhere")'),
        ('"out/checkpoint-500"', 'DPOConfig(output_dir="out")'),
        ('"./out"', 'DPOConfig("out")'),
        ("options.output_dir", "options"),
    ],
)
def test_dpo_that_goes_on_with_its_own_adapter(folder: str, arguments: str) -> None:
    head = "from trl import DPOConfig, DPOTrainer\n"
    loaded = f"model = PeftModel.from_pretrained(base, {folder}, is_trainable=True)\n"
    trained = f"DPOTrainer(model, args={arguments}).train()"
    assert "trl.DPOTrainer.loaded_adapter" not in symbols(head + loaded + trained)
    other = loaded.replace(folder, '"sft-for-dpo"')
    assert "trl.DPOTrainer.loaded_adapter" in symbols(head + other + trained)


_MERGED = 'PeftModel.from_pretrained(base, "sft").merge_and_unload()'
_LOOP = "for batch in batches():\n    model(**batch).loss.backward()\n    optimizer.step()\n"


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (f"def build():\n    return {_MERGED}\nmodel = build()\nGRPOTrainer(model).train()", "none"),
        (f"def fit(given):\n    GRPOTrainer(given).train()\nfit({_MERGED})", "none"),
        (f"model = {_MERGED}\noptimizer = torch.optim.AdamW(model.parameters())\n{_LOOP}", "none"),
        (f"{_WRAPPED}optimizer = torch.optim.AdamW(model.parameters())\n{_LOOP}", "lora"),
        (f"def build():\n    return get_peft_model({_MERGED}, LoraConfig())\nGRPOTrainer(build()).train()", "lora"),
    ],
)
def test_a_merged_model_in_functions_and_loops(text: str, method: str) -> None:
    settings = scan(Document("x.py", f"import torch\n{_HEAD}{text}")).settings
    assert {one.value for one in settings if one.key == "peft.method"} == {method}


_REPLACED = (
    "from peft import get_peft_model_state_dict\n"
    "from transformers import Trainer, TrainingArguments\n"
    "model = get_peft_model(base, LoraConfig())\n"
    'trainer = Trainer(model=model, args=TrainingArguments("out", save_strategy="{strategy}"))\n'
    "old = model.state_dict\n"
    "model.state_dict = (lambda self, *_, **__: get_peft_model_state_dict(self, old())).__get__(model, type(model))\n"
)


@pytest.mark.parametrize(
    ("strategy", "rest", "lost"),
    [
        ("no", "trainer.train()\nmodel.state_dict = old\nmodel.save_pretrained('out')\n", False),
        ("no", "trainer.train()\nmodel.save_pretrained('out')\nmodel.state_dict = old\n", True),
        ("steps", "trainer.train()\nmodel.state_dict = old\nmodel.save_pretrained('out')\n", True),
        ("no", "trainer.train()\nmodel.save_pretrained('out')\n", True),
    ],
)
def test_a_state_dict_that_is_put_back(strategy: str, rest: str, lost: bool) -> None:
    used = symbols(_REPLACED.format(strategy=strategy) + rest)
    assert ("peft.get_peft_model_state_dict.as_state_dict" in used) is lost
