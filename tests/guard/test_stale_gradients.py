"""Gradients that no backward pass of the step has delivered, and parameters that move without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import loop, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

# The second layer is left out of every other step, as an expert or a task's head is.
BRANCH = """
first, other = torch.nn.Linear(8, 3), torch.nn.Linear(8, 3)
optimizer = torch.optim.{optimizer}([*first.parameters(), *other.parameters()], lr=0.01)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.other = first, other

    def forward(self, x):
        return self.first(x) + (self.other(x) if step % 2 == 0 else 0)


model = Model()
"""


def branch(*, optimizer: str = "SGD", rest: str = "") -> str:
    return BRANCH.format(optimizer=optimizer) + rest


def test_a_gradient_that_is_left_from_an_earlier_step_stops_the_run(tmp_path: Path) -> None:
    script = loop(before=branch()).replace("    optimizer.zero_grad()", "    first.zero_grad()")
    trained = train(script, tmp_path)
    assert trained.told == [("stale gradient", "error")], trained.err
    assert trained.status == 86
    assert "2 of 4 trainable tensors" in trained.err


@pytest.mark.parametrize("zeroed", ["optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)"])
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_a_branch_that_is_left_out_is_no_defect(tmp_path: Path, zeroed: str, optimizer: str) -> None:
    script = loop(before=branch(optimizer=optimizer)).replace("    optimizer.zero_grad()", f"    {zeroed}")
    guarded, alone = train(script, tmp_path), train(script, tmp_path, guarded=False)
    assert guarded.told == [], guarded.err
    assert guarded.out == alone.out
    assert guarded.report is not None
    assert "stale gradient" in guarded.report["verified"]


def test_gradients_that_a_program_sets_itself_are_no_defect(tmp_path: Path) -> None:
    """As methods do that combine the gradients of several losses."""
    between = "if micro == 3: [setattr(one, 'grad', torch.full_like(one, 1e-3)) for one in other.parameters()]"
    script = loop(before=branch(), between=between)
    trained = train(script, tmp_path)
    assert ("stale gradient", "error") not in trained.told, trained.err


DECAYING = """
class Decaying(torch.optim.SGD):
    def step(self, closure=None):
        super().step(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data.mul_(0.9)


optimizer = Decaying([*first.parameters(), *other.parameters()], lr=0.01)
"""


def test_parameters_that_an_optimizer_moves_without_a_gradient(tmp_path: Path) -> None:
    trained = train(loop(before=branch(rest=DECAYING)), tmp_path)
    assert trained.told == [("movement", "warning")], trained.err
    assert "2 tensors have no gradient and move" in trained.err.replace("\n  ", " ")


AVERAGED = """
def average():
    with torch.no_grad():
        for mine, others in zip(other.parameters(), first.parameters()):
            mine.lerp_(others, 0.1)
"""


def test_an_average_that_moves_beside_the_optimizer_is_no_defect(tmp_path: Path) -> None:
    """A target network follows the one that trains, and has no gradient."""
    before = branch(rest=AVERAGED).replace("step % 2 == 0", "False")
    script = loop(before=before).replace("    optimizer.step()", "    optimizer.step()\n    average()")
    guarded, alone = train(script, tmp_path), train(script, tmp_path, guarded=False)
    assert guarded.told == [], guarded.err
    assert guarded.out == alone.out


SHARED = """
other.weight.data = first.weight.data
other.bias.data = first.bias.data
"""


def test_parameters_that_share_their_numbers_move_together(tmp_path: Path) -> None:
    before = branch(rest=SHARED).replace("step % 2 == 0", "False")
    trained = train(loop(before=before), tmp_path)
    assert trained.told == [], trained.err


LAYERS = """
import torch
from torch.nn import functional as F

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
optimizers = {one: torch.optim.AdamW([one], lr=0.01) for one in model.parameters()}


def update(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for one in model.parameters():
    one.register_post_accumulate_grad_hook(update)
for step in range(10):
    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
    F.cross_entropy(model(x), y).backward()
print(sum(p.double().sum().item() for p in model.parameters()).hex())
"""


def test_optimizers_that_step_inside_of_backward_are_no_defect(tmp_path: Path) -> None:
    guarded, alone = train(LAYERS, tmp_path), train(LAYERS, tmp_path, guarded=False)
    assert (guarded.status, guarded.told) == (0, []), guarded.err
    assert guarded.out == alone.out
