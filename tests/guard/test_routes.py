"""Losses that no function of torch computes, and engines that step by themselves: by the names that they really have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

# As in liger-kernel 0.5.4 and TRL 1.16.0: the class, its place and the arguments of its forward; the kernel is torch's.
FUSED = """
import sys, types
import torch
from torch.nn import functional as F
cross_entropy, log_softmax = torch.ops.aten.cross_entropy_loss, torch.log_softmax


class LigerFusedLinearCrossEntropyFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, _input, weight, target, bias=None, ce_weight=None, ignore_index=-100, lse_square_scale=0.0,
                label_smoothing=0.0, reduction="mean", softcap=None, return_z_loss=False):
        with torch.enable_grad():
            given = [one.detach().requires_grad_() for one in (_input, weight)]
            loss = cross_entropy(given[0] @ given[1].T, target, reduction={"mean": 1, "sum": 2}[reduction])
        ctx.save_for_backward(*torch.autograd.grad(loss, given))
        return loss.detach(), None

    @staticmethod
    def backward(ctx, arrived, _z):
        return *(arrived * one for one in ctx.saved_tensors), *[None] * 9


class ChunkedLogProbFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, bias, targets, temperature, chunk_size, softcapping=None, scale=1.0, outputs=()):
        with torch.enable_grad():
            given = [one.detach().requires_grad_() for one in (hidden, weight)]
            chosen = log_softmax(given[0] @ given[1].T, -1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        ctx.given, ctx.chosen = given, chosen
        return chosen.detach(), None

    @staticmethod
    def backward(ctx, arrived, _entropy):
        return *torch.autograd.grad(ctx.chosen, ctx.given, arrived), *[None] * 7


for place, one in (("liger_kernel.ops.fused_linear_cross_entropy", LigerFusedLinearCrossEntropyFunction),
                   ("trl.kernels.chunked_logprob", ChunkedLogProbFunction)):
    sys.modules[place] = types.ModuleType(place)
    setattr(sys.modules[place], one.__name__, one)

torch.manual_seed(0)
body, head = torch.nn.Linear(8, 16), torch.nn.Linear(16, 5, bias=False)
model = torch.nn.Sequential(body, head)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)


def loss_of(kind, x, y, labels):
    hidden, valid = body(x), y != -100
    if kind == "liger mean":
        return LigerFusedLinearCrossEntropyFunction.apply(hidden, head.weight, y)[0] / 4
    if kind == "liger sum":
        total, _ = LigerFusedLinearCrossEntropyFunction.apply(
            hidden, head.weight, y, None, None, -100, 0.0, 0.0, "sum")
        return total / labels
    chosen, _ = ChunkedLogProbFunction.apply(hidden, head.weight, None, y.clamp(min=0), 1.0, 4)
    if kind == "advantages":  # a policy's loss: no labels whose weights could add up
        return -(chosen * torch.randn(len(y))).mean() / 4
    return -(chosen * valid).sum() / labels


for step in range(10):
    batches = [(torch.randn(8, 8), torch.randint(0, 5, (8,))) for _ in range(4)]
    for micro, (_, y) in enumerate(batches):
        y[: micro if sys.argv[1] != "liger mean" else 0] = -100
    labels = sum((y != -100).sum() for _, y in batches)
    model(batches[0][0])  # the model is called, as a whole
    for x, y in batches:
        (loss_of(sys.argv[1], x, y, labels) * int(sys.argv[2])).backward()
    optimizer.step()
    optimizer.zero_grad()
print(sum(p.double().sum().item() for p in model.parameters()).hex())
"""


@pytest.mark.parametrize("kind", ["liger mean", "liger sum", "chunked"])
def test_losses_that_are_fused_with_the_last_layer(tmp_path: Path, kind: str) -> None:
    healthy = train(FUSED, tmp_path, "train.py", kind, "1")
    assert (healthy.status, healthy.told) == (0, []), healthy.err
    assert healthy.report is not None
    assert {"objective weight", "token weights"} <= set(healthy.report["verified"])
    assert healthy.out == train(FUSED, tmp_path, "train.py", kind, "1", guarded=False).out
    assert train(FUSED, tmp_path, "train.py", kind, "4").told == [("objective weight", "warning")]


def test_log_probabilities_under_advantages_are_no_objective(tmp_path: Path) -> None:
    trained = train(FUSED, tmp_path, "train.py", "advantages", "1")
    assert (trained.status, trained.told) == (0, []), trained.err
    assert "objective weight (no loss function of torch was called" in trained.err
