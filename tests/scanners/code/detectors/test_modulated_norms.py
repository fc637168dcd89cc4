"""Layer norms that slices of one parameter scale and shift."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.modulated_norms import modulated_norms

_BLOCK = """\
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(1, 4, dim))
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False)

    def forward(self, x, t):
        shift1, scale1, shift2, scale2 = (self.table + t).chunk(4, dim=1)
        x = self.norm1(x) * (1 + scale1) + shift1
        return self.norm2(x) * (1 + scale2) + shift2
"""


def test_slices_of_a_parameter() -> None:
    assert modulated_norms(ast.parse(_BLOCK).body) is not None
    assert modulated_norms(ast.parse(_BLOCK.replace("(self.table + t)", "self.table")).body) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (", elementwise_affine=False", ""),  # norms with weights
        ("nn.Parameter(torch.randn(1, 4, dim))", "nn.Linear(dim, 4 * dim)"),
        ("(self.table + t)", "self.cond(t)"),  # slices of what a layer computes
        ("self.norm2(x) *", "self.norm1(x) *"),  # one norm
        ("shift1, scale1, shift2, scale2 =", "slices ="),
    ],
)
def test_other_blocks(old: str, new: str) -> None:
    assert modulated_norms(ast.parse(_BLOCK.replace(old, new)).body) is None
