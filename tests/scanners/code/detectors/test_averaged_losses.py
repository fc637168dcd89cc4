"""Whether losses of single tokens are only averaged or added up."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

CALL = "parallel_cross_entropy(model(x), y)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"loss = {CALL}.mean()", True),
        (f"loss = torch.sum({CALL})", True),
        (f"losses = {CALL}\nloss = losses.mean()", True),
        (f"loss = {CALL}\nloss = loss.sum() / 8", True),
        (f"losses = {CALL}\nloss = (losses * mask).sum()", False),
        (f"losses = {CALL}\nprint(losses.mean())\nloss = (losses * mask).sum()", False),
        (f"loss = {CALL}", False),
        (f"def f():\n    return {CALL}\nloss = f()", False),
    ],
)
def test_what_is_averaged(lines: str, expected: bool) -> None:
    head = "import torch\nfrom transformer_engine.pytorch import parallel_cross_entropy\n"
    context = python_code.scan(Document("train.py", f"{head}{lines}\nloss.backward()\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert any(one.endswith("parallel_cross_entropy.averaged") for one in symbols) is expected
