"""Whether a program makes the weights of a model float16 after it has loaded it."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "import torch\nfrom transformers import AutoModelForCausalLM\n"
MODEL = "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("model = AutoModelForCausalLM.from_pretrained('gpt2').half().cuda()", True),
        (f"{MODEL}model.half()", True),
        (f"{MODEL}model = model.to(torch.float16)", True),
        (f"{MODEL}model.to('cuda', dtype=torch.half)", True),
        (f"{MODEL}model.to('cuda')", False),
        (f"{MODEL}model.to(torch.bfloat16)", False),
        (f"{MODEL}batch = batch.half()", False),
        (MODEL, False),
    ],
)
def test_who_makes_weights_half(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nloss.backward()\n"))
    stated = {one.key: one.value for one in context.settings}
    assert (stated.get("model.torch_dtype") == "float16") is expected
    assert (stated.get("precision.half_weights") is True) is expected
