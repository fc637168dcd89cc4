"""Whether the loss of a pipeline of DeepSpeed is computed in float32."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code import python_code

HEAD = "from deepspeed.pipe import PipelineModule\nfrom torch import nn\nfrom torch.nn import functional as F\n"


def symbols(definition: str, given: str) -> SettingValue | None:
    text = f"{HEAD}{definition}net = PipelineModule(layers=layers, loss_fn={given}, num_stages=4)\n"
    context = python_code.scan(Document("train.py", text))
    return next(one.value for one in context.settings if one.key == "code.symbols")


@pytest.mark.parametrize(
    ("definition", "given", "expected"),
    [
        ("def loss(out, labels):\n    return F.cross_entropy(out.float(), labels)\n", "loss", True),
        ("def loss(out, labels):\n    return F.cross_entropy(out, labels)\n", "loss", False),
        (
            "class Loss(nn.Module):\n    def forward(self, out, y):\n        return loss(out, y).to(torch.float32)\n",
            "Loss()",
            True,
        ),
        ("", "lambda out, y: F.mse_loss(out.float(), y)", True),
        ("", "nn.CrossEntropyLoss()", False),
    ],
)
def test_a_loss_in_float32(definition: str, given: str, expected: bool) -> None:
    found = symbols(definition, given)
    assert isinstance(found, tuple)
    assert ("deepspeed.PipelineModule.float_loss" in found) is expected
