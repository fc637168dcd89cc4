"""Parameters called gamma or beta in models that are loaded by from_pretrained."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

MODEL = """\
import torch
from torch import nn
from transformers import PreTrainedModel


class LayerScale(nn.Module):
    def __init__(self, dim, init=1e-6):
        super().__init__()
        {parameter}


class Net({base}):
    def __init__(self, config):
        super().__init__(config)
        self.scale = LayerScale(config.dim)


{load}
"""


@pytest.mark.parametrize(
    ("parameter", "base", "load", "told"),
    [
        ("self.gamma = nn.Parameter(torch.ones(dim))", "PreTrainedModel", "model = Net.from_pretrained('ckpt')", True),
        ("self.ls_beta = nn.Parameter(init) if init else None", "PreTrainedModel", "Net.from_pretrained('c')", True),
        ("self.weight = nn.Parameter(torch.ones(dim))", "PreTrainedModel", "Net.from_pretrained('ckpt')", False),
        ("self.gamma = init", "PreTrainedModel", "Net.from_pretrained('ckpt')", False),
        ("self.gamma = nn.Parameter(torch.ones(dim))", "PreTrainedModel", "model = Net(config)", False),
        ("self.gamma = nn.Parameter(torch.ones(dim))", "nn.Module", "model = Net(config)", False),
    ],
)
def test_a_parameter_that_is_looked_for_elsewhere(parameter: str, base: str, load: str, told: bool) -> None:
    found = scan(Document("train.py", MODEL.format(parameter=parameter, base=base, load=load))).settings
    names = [name for one in found if one.key == "code.symbols" and isinstance(one.value, tuple) for name in one.value]
    assert ("torch.nn.Parameter.gamma_or_beta" in names) is told


def test_a_parameter_of_a_module_beside_the_model() -> None:
    beside = MODEL.replace("LayerScale(config.dim)", "nn.Linear(1, 1)")
    parameter = "self.gamma = nn.Parameter(torch.zeros(1))"
    document = beside.format(
        parameter=parameter, base="PreTrainedModel", load="Net.from_pretrained('c'), LayerScale(8)"
    )
    found = scan(Document("train.py", document)).settings
    names = [name for one in found if one.key == "code.symbols" and isinstance(one.value, tuple) for name in one.value]
    assert "torch.nn.Parameter.gamma_or_beta" not in names
