"""Adapters that become a part of another module."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

_HEAD = "import torch\nfrom peft import get_peft_model\nfrom transformers import Trainer\n"
_NET = "class Net(torch.nn.Module):\n    def __init__(self, encoder):\n        {}\n"


@pytest.mark.parametrize(
    ("lines", "on_part"),
    [
        ("model.vit = get_peft_model(model.vit, config)", True),
        ("vit = get_peft_model(model.vit, config)\nmodel.vit = vit", True),
        (_NET.format("self.encoder = get_peft_model(encoder, config)"), True),
        (_NET.format("self.encoder = encoder") + "model = Net(get_peft_model(encoder, config))", True),
        (_NET.format("self.encoder = encoder") + "inner = get_peft_model(inner, config)\nmodel = Net(inner)", True),
        ("model = get_peft_model(model, config)", False),
        (_NET.format("self.encoder = encoder") + "model = get_peft_model(Net(encoder), config)", False),
        ("class Run:\n    def __init__(self):\n        self.model = get_peft_model(self.model, config)", False),
        ("trainer.model = get_peft_model(trainer.model, config)", False),
    ],
)
def test_what_the_adapter_is_put_on(lines: str, on_part: bool) -> None:
    context = python_code.scan(Document("train.py", f"{_HEAD}{lines}\nTrainer(model=model).train()\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert ("peft.get_peft_model.on_part" in symbols) is on_part
