"""Whether a program makes the weights of a model float16 or bfloat16 after it has loaded it."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "import torch\nfrom transformers import AutoModelForCausalLM\n"
MODEL = "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("model = AutoModelForCausalLM.from_pretrained('gpt2').half().cuda()", "float16"),
        (f"{MODEL}model.half()", "float16"),
        (f"{MODEL}model = model.to(torch.float16)", "float16"),
        (f"{MODEL}model.to('cuda', dtype=torch.half)", "float16"),
        (f"{MODEL}model.to(torch.bfloat16)", "bfloat16"),
        (f"{MODEL}model.bfloat16()", "bfloat16"),
        (f"{MODEL}model.to('cuda')", None),
        (f"{MODEL}batch = batch.half()", None),
        (f"{MODEL}batch = batch.to(torch.bfloat16)", None),
        (MODEL, None),
    ],
)
def test_who_makes_weights_half(lines: str, expected: str | None) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nloss.backward()\n"))
    stated = {one.key: one.value for one in context.settings}
    assert stated.get("model.torch_dtype") == expected
    assert (stated.get("precision.half_weights") is True) is (expected is not None)
