"""Whether a program makes the weights of a model float32 itself."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "import torch\nfrom peft import get_peft_model\nmodel = get_peft_model(base, config)\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("model.float()", True),
        ("model = model.to(torch.float32)", True),
        ("base.to(dtype=torch.float32)", True),
        ("for p in model.parameters():\n    if p.requires_grad:\n        p.data = p.data.float()", True),
        ("for n, p in model.named_parameters():\n    p.data = p.data.to(torch.float32)", True),
        ("for p in filter(lambda p: p.requires_grad, model.parameters()):\n    p.data = p.float()", True),
        ("for name, module in model.named_modules():\n    module.to(torch.float32)", True),
        ("model.apply(lambda module: module.float())", True),
        (
            "trained = [p for p in model.parameters() if p.requires_grad]\nfor p in trained:\n    p.data = p.float()",
            True,
        ),
        ("def up(m):\n    for p in m.parameters():\n        p.data = p.data.float()\nup(model)", True),
        ("def up(m):\n    for p in m.parameters():\n        p.data = p.data.float()\nup(teacher)", False),
        ("model.apply(lambda module: module.half())", False),
        ("model.to(torch.float16)", False),
        ("model.to('cuda')", False),
        ("teacher.float()", False),
        ("loss = model(x).loss.float()", False),
        ("for p in teacher.parameters():\n    p.data = p.data.float()", False),
    ],
)
def test_who_makes_weights_float32(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\n"))
    found = next(one.value for one in context.settings if one.key == "code.symbols")
    assert isinstance(found, tuple)
    assert ("peft.get_peft_model.float" in found) is expected
