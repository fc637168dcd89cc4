"""Clipping that happens more than once in a step, by whatever way it is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import loop, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), {})"
ONCE = f"if micro == 3: {CLIP}"


@pytest.mark.parametrize(
    "between",
    [
        f"if micro == 3: {CLIP.format(0.1)}; {CLIP.format(0.01)}",
        CLIP.format(0.01),  # on every micro-batch, so that the first of them count least
        "if micro == 3: clip(model.parameters(), 0.1); clip(model.parameters(), 0.01)",
        "if micro == 3: torch.nn.utils.clip_grad_value_(model.parameters(), 1e-3);"
        " torch.nn.utils.clip_grad_value_(model.parameters(), 1e-4)",
        f"if micro == 3: {CLIP.format(0.1)}; clip_by_parts(0.01)",
    ],
    ids=["norm", "every micro-batch", "imported before", "value", "by parts"],
)
def test_gradients_that_are_clipped_twice(tmp_path: Path, between: str) -> None:
    before = """
from torch.nn.utils import clip_grad_norm_ as clip


def clip_by_parts(limit):
    gradients = [one.grad for one in model.parameters()]
    norm = torch.nn.utils.get_total_norm(gradients)
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), limit, norm)
"""
    script = loop(before=before, between=between)
    guarded, alone = (train(script, tmp_path, guarded=one, GRADCOMPAT_GUARD_ON_DEFECT="warn") for one in (True, False))
    assert ("clipping", "warning") in guarded.told, guarded.err
    assert "times in step 1, once is right" in guarded.err.replace("\n  ", " ")
    assert guarded.out == alone.out


@pytest.mark.parametrize(
    "between",
    [
        ONCE.format(0.01),
        "if micro == 3: clip_halves()",
        f"if micro == 3: {CLIP.format(0.01)}; {CLIP.format(0.01)}",  # the second one changes nothing
        CLIP.format("float('inf')"),  # as the norm is logged
        "if micro == 3: " + CLIP.format("float('inf')") + "; " + CLIP.format(0.01),
        CLIP.format(1e4),
        "if micro == 3: torch.nn.utils.clip_grad_value_(model.parameters(), 1e-3)",
        f"if micro == 3: torch.nn.utils.clip_grad_value_(model.parameters(), 1e-3); {CLIP.format(1e-3)}",
        f"if micro == 3: clip_halves(); {CLIP.format(0.005)}",
    ],
    ids=["once", "groups", "the same", "logged", "logged and once", "unreached", "value", "both", "layers and model"],
)
def test_clipping_as_it_should_be_is_no_defect(tmp_path: Path, between: str) -> None:
    before = """
def clip_halves():
    for half in (model[0], model[3]):
        torch.nn.utils.clip_grad_norm_((one for one in half.parameters()), 0.01)
"""
    script = loop(before=before, between=between)
    guarded, alone = train(script, tmp_path), train(script, tmp_path, guarded=False)
    assert (guarded.status, guarded.told) == (0, []), guarded.err
    assert guarded.out == alone.out


def test_closures_may_clip_each_time_that_they_are_called(tmp_path: Path) -> None:
    script = """
import torch
from torch.nn import functional as F

torch.manual_seed(0)
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1)
x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))


def closure():
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    return loss


for _ in range(4):
    optimizer.step(closure)
print(sum(p.double().sum().item() for p in model.parameters()).hex())
"""
    guarded, alone = train(script, tmp_path), train(script, tmp_path, guarded=False)
    assert (guarded.status, guarded.told) == (0, []), guarded.err
    assert guarded.out == alone.out


def test_an_iterator_without_parameters_is_warned_of_as_without_the_guard(tmp_path: Path) -> None:
    script = loop(between="torch.nn.utils.clip_grad_norm_((one for one in ()), 1.0)", steps=1)
    guarded, alone = train(script, tmp_path), train(script, tmp_path, guarded=False)
    assert "empty generator" in alone.err
    assert "empty generator" in guarded.err
