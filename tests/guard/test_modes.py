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
BY_HAND = "[p.grad.div_(scaler.get_scale()) for p in model.parameters()]; "
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
ADVERSARY = """
class Adversary(torch.nn.Module):
    def forward(self, batch):
        return inner(batch["x"])
inner, model = model, Adversary()
model.inner = inner
def attack(x, y):
    shift = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        F.cross_entropy(model(batch={"x": x + shift}), y).backward()
        shift = (shift + 0.05 * shift.grad.sign()).detach().requires_grad_()
    return {"x": (x + shift).detach()}
"""
BY_KEYWORD = "x = attack(x, y); optimizer.zero_grad(); F.cross_entropy(model(batch=x), y).backward(); optimizer.step()"
INPUTS = """
model.eval()
def step():
    optimizer.zero_grad()
    for _ in range(4):
        x = torch.randn(8, 8, requires_grad=True)
        (F.cross_entropy(model(x), torch.randint(0, 3, (8,))) / 4).backward()
    optimizer.step()
"""
SAM = """
optimizer.zero_grad()
F.cross_entropy(model(x), y).backward()
with torch.no_grad():
    kept = [p.clone() for p in model.parameters()]
    for p in model.parameters():
        p.add_(0.05 * p.grad)
optimizer.zero_grad()
F.cross_entropy(model(x), y).backward()
with torch.no_grad():
    for p, old in zip(model.parameters(), kept):
        p.copy_(old)
optimizer.step()
"""
PARTS = "body.requires_grad_(True).eval()"
BY_PARTS = "optimizer.zero_grad(); F.cross_entropy(model[1](body(x)), y).backward(); optimizer.step()"
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
        (PARTS, 0.0, BY_PARTS, []),
        (PARTS, 0.1, BY_PARTS, [EVALUATION]),
        (ATTACK, 0.1, "x = attack(x, y); " + STEP, []),
        ("pass", 0.1, SAM.replace("\n", "\n    "), []),
        (ADVERSARY, 0.1, BY_KEYWORD, []),
        (ADVERSARY + "model.eval()", 0.1, BY_KEYWORD, [EVALUATION]),
        ("pass", 0.1, SCALED.format(""), []),
        ("pass", 0.1, SCALED.format("scaler.unscale_(optimizer); " + CLIP), []),
        ("pass", 0.1, SCALED.format(CLIP), [CLIPPING]),
        ("pass", 0.1, SCALED.format(CLIP.replace("0.01", "0.01 * scaler.get_scale()")), []),
        (
            "pass",
            0.1,
            SCALED.format(BY_HAND + CLIP).replace("scaler.step(optimizer); scaler.update()", "optimizer.step()"),
            [],
        ),
    ],
    ids=[
        *(
            "all",
            "batch norm",
            "averages",
            "frozen",
            "head",
            "parts",
            "noise of parts",
            "attack",
            "sam",
            "attack by keyword",
        ),
        *("attack in evaluation mode", "scaled", "unscaled", "clipped too early", "limit", "by hand"),
    ],
)
def test_what_is_told(tmp_path: Path, before: str, p: float, step: str, told: list[tuple[str, str]]) -> None:
    script = PROGRAM.format(before=before, p=p, step=step)
    guarded, alone = (train(script, tmp_path, guarded=one) for one in (True, False))
    assert (guarded.status, guarded.told) == (0, told), guarded.err
    assert guarded.out == alone.out
    assert guarded.report is not None
    assert guarded.report["steps"] == 2
    assert {round(one["objective_weight"], 2) for one in guarded.report["measured"]} == {1.0}


def test_micro_batches_of_inputs_that_ask_for_a_gradient_are_all_of_the_step(tmp_path: Path) -> None:
    guarded = train(PROGRAM.format(before=INPUTS, p=0.1, step="step()"), tmp_path)
    assert guarded.told == [EVALUATION], guarded.err
    assert guarded.report is not None
    assert [one["micro_batches"] for one in guarded.report["measured"]] == [4, 4]
