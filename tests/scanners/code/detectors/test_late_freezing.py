"""Whether weights are frozen behind the conversion to float8."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

CONVERT = "convert_to_float8_training(model)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"{CONVERT}\nmodel.tower.requires_grad_(False)", True),
        (f"{CONVERT}\nfor p in model.tower.parameters():\n    p.requires_grad = False", True),
        (f"{CONVERT}\nmodel = get_peft_model(model, config)", True),
        (f"def main():\n    {CONVERT}\n    freeze_base(model)\nmain()", True),
        (f"model.tower.requires_grad_(False)\n{CONVERT}", False),
        (f"model = get_peft_model(model, config)\n{CONVERT}\nmodel.head.requires_grad_(True)", False),
        (f"def main():\n    {CONVERT}\ndef other():\n    model.requires_grad_(False)\nmain()", False),
    ],
)
def test_what_is_frozen_later(lines: str, expected: bool) -> None:
    head = "from peft import get_peft_model\nfrom torchao.float8 import convert_to_float8_training\n"
    context = python_code.scan(Document("train.py", f"{head}{lines}\nmodel(x).backward()\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert ("torchao.float8.convert_to_float8_training.then_frozen" in symbols) is expected
