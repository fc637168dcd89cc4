"""Models in evaluation mode, backward passes that are not for a step, and losses that a GradScaler scales."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

PROGRAM = """
import torch
from torch.nn import functional as F

torch.manual_seed(0)
body = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout({p}))
model = torch.nn.Sequential(body, torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu")
{before}
for _ in range(5):
    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
    {step}
print(sum(p.double().sum().item() for p in model.parameters()).hex())
"""
STEP = "optimizer.zero_grad(); F.cross_entropy(model(x), y).backward(); optimizer.step()"
SCALED = "optimizer.zero_grad(); scaler.scale(F.cross_entropy(model(x), y)).backward(); {}scaler.step(optimizer); "
SCALED += "scaler.update()"
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01); "
ATTACK = """
def attack(x, y):
    model.eval()
    shift = torch.zeros_like(x, requires_grad=True)
    for _ in range(2):
        F.cross_entropy(model(x + shift), y).backward()
        shift = (shift + 0.05 * shift.grad.sign()).detach().requires_grad_()
    model.train()
    return (x + shift).detach()
"""
FREEZE = "body.requires_grad_(False).eval()"
EVALUATION, CLIPPING = ("evaluation mode", "warning"), ("clipping", "warning")


@pytest.mark.parametrize(
    ("before", "p", "step", "told"),
    [
        ("model.eval()", 0.1, STEP, [EVALUATION]),
        ("model.eval()", 0.0, STEP, [EVALUATION]),  # batch normalization
        ("body.eval()", 0.0, STEP, []),  # whoever does that keeps the averages
        (FREEZE, 0.1, STEP, []),
        ("model.eval(); body.requires_grad_(False)", 0.1, STEP, []),
        (ATTACK, 0.1, "x = attack(x, y); " + STEP, []),
        ("pass", 0.1, SCALED.format(""), []),
        ("pass", 0.1, SCALED.format("scaler.unscale_(optimizer); " + CLIP), []),
        ("pass", 0.1, SCALED.format(CLIP), [CLIPPING]),
    ],
    ids=["all", "batch norm", "averages", "frozen", "head", "attack", "scaled", "unscaled", "clipped too early"],
)
def test_what_is_told(tmp_path: Path, before: str, p: float, step: str, told: list[tuple[str, str]]) -> None:
    script = PROGRAM.format(before=before, p=p, step=step)
    guarded, alone = (train(script, tmp_path, guarded=one) for one in (True, False))
    assert (guarded.status, guarded.told) == (0, told), guarded.err
    assert guarded.out == alone.out
    assert guarded.report is not None
    assert guarded.report["steps"] == 2
    assert {round(one["objective_weight"], 2) for one in guarded.report["measured"]} == {1.0}
