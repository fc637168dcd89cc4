"""Adapters on a model that is loaded without a device_map."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

_HEAD = "from peft import get_peft_model\nfrom transformers import AutoModelForCausalLM, Trainer\n"
_LOAD = "model = AutoModelForCausalLM.from_pretrained(name{})\n"
_WRAP = "model = get_peft_model(model, config)"


@pytest.mark.parametrize(
    ("lines", "unplaced"),
    [
        (_LOAD.format("") + _WRAP, True),
        (_LOAD.format(", device_map=None") + _WRAP, True),
        ("model = get_peft_model(AutoModelForCausalLM.from_pretrained(name), config)", True),
        ("teacher = AutoModelForCausalLM.from_pretrained(other, device_map='auto')\n" + _LOAD.format("") + _WRAP, True),
        (_LOAD.format(", device_map='auto'") + _WRAP, False),
        (_LOAD.format(", load_in_4bit=True") + _WRAP, False),
        (_LOAD.format(", quantization_config=bits") + _WRAP, False),
        (_LOAD.format(", **options") + _WRAP, False),
        (f"if big:\n    {_LOAD.format(', device_map=0')}else:\n    {_LOAD.format('')}{_WRAP}", False),
        ("model = build()\n" + _WRAP, False),
        (_WRAP, False),
    ],
)
def test_what_the_adapter_is_put_on(lines: str, unplaced: bool) -> None:
    context = python_code.scan(Document("train.py", f"{_HEAD}{lines}\nTrainer(model=model).train()\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert ("peft.get_peft_model.unplaced" in symbols) is unplaced
