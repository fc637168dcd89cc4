"""Optimizers that hold copies of the parameters: one flat tensor (ZeRO), or the weights in another precision."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import loop, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

FLAT = """
flat = torch.nn.Parameter(torch.cat([one.detach().reshape(-1) for one in model.parameters()]))
optimizer = torch.optim.SGD([flat], lr=0.01)


def hand_over():
    flat.grad = torch.cat([one.grad.reshape(-1) for one in model.parameters()])
    model.zero_grad()
"""
MASTERS = """
model = model.bfloat16()
copies = [torch.nn.Parameter(one.detach().float()) for one in model.parameters()]
optimizer = torch.optim.SGD(copies, lr=0.01)
forward = model.forward
model.forward = lambda x: forward(x.bfloat16())


def hand_over():
    for copy, one in zip(copies, model.parameters()):
        copy.grad, one.grad = one.grad.float(), None
"""
STALE = """
import copy
optimizer = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.01)


def hand_over():
    for copied, one in zip(optimizer.param_groups[0]["params"], model.parameters()):
        copied.grad = one.grad.clone()
"""


@pytest.mark.parametrize("copies", [FLAT, MASTERS], ids=["flat", "another precision"])
def test_an_optimizer_of_copies_is_no_defect_and_is_not_verified(tmp_path: Path, copies: str) -> None:
    trained = train(loop(before=copies, between="if micro == 3: hand_over()"), tmp_path)
    assert (trained.status, trained.told) == (0, [])
    assert trained.report is not None
    assert "optimizer parameters" in {one["what"] for one in trained.report["unverified"]}


def test_an_optimizer_of_another_model_of_the_same_shapes_is_told(tmp_path: Path) -> None:
    trained = train(loop(before=STALE, between="if micro == 3: hand_over()"), tmp_path)
    assert ("optimizer parameters", "error") in trained.told
