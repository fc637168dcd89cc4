"""Whether an optimizer of torch gets a tensor as its learning rate."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.scanners.code.detectors.tensor_rates import SYMBOL


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.optim.AdamW(weights, lr=torch.tensor(1e-3))", True),
        ("torch.optim.AdamW(weights, torch.as_tensor(1e-3))", True),
        ("torch.optim.SGD(weights, lr=rate)", True),
        ("torch.optim.AdamW(weights, lr=1e-3)", False),
        ("torch.optim.AdamW(weights, 1e-3)", False),
        ("torch.optim.AdamW(weights, lr=torch.tensor(1e-3).item())", False),
        ("torch.optim.AdamW(weights, lr=float(rate))", False),
        ("torch.optim.AdamW([torch.tensor(1.0)])", False),
        ("torch.optim.lr_scheduler.StepLR(adam, torch.tensor(3))", False),
        ("torch.optim.AdamW([{'params': weights, 'lr': rate}])", True),
        ("torch.optim.AdamW([{'params': weights, 'lr': 1e-3}])", False),
        ("torchao.optim.AdamW8bit([{'params': weights, 'lr': torch.tensor(1e-3)}])", True),
    ],
)
def test_which_rates_are_tensors(line: str, expected: bool) -> None:
    head = "import torch\nimport torchao.optim\n"
    text = f"{head}rate = torch.tensor(0.1).cuda()\noptimizer = {line}\nloss.backward()\noptimizer.step()\n"
    context = python_code.scan(Document("train.py", text))
    found = next(one.value for one in context.settings if one.key == "code.symbols")
    assert isinstance(found, tuple)
    assert (SYMBOL in found) is expected
