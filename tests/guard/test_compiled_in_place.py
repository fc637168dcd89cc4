"""``model.compile()`` under the guard: the model is seen, compiles as a whole, and trains as it does alone."""

from __future__ import annotations

from pathlib import Path

from tests.guard.test_training import train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

# torch 2.13 compiles no Sequential in place as a whole, with the guard or without it.
SCRIPT = """\
import copy, sys
import torch
from torch.nn import functional as F

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
    def forward(self, x):
        return torch.relu(self.inner(x))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = Block(), Block(), torch.nn.Linear(8, 3)
    def forward(self, x):
        return self.head(self.second(self.first(x)))

torch.manual_seed(0)
model = Model()
for part in (model.first, model):
    part.compile(backend="eager", fullgraph=True)
optimizer = torch.optim.AdamW((copy.deepcopy(model) if "copy" in sys.argv else model).parameters(), lr=0.01)
for step in range(4):
    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
print(sum(p.double().sum().item() for p in model.parameters()).hex())
"""


def test_a_model_that_is_compiled_in_place_is_verified_and_trains_as_alone(tmp_path: Path) -> None:
    guarded, alone = train(SCRIPT, tmp_path), train(SCRIPT, tmp_path, guarded=False)
    assert (guarded.status, guarded.told) == (0, []), guarded.err
    assert guarded.out == alone.out
    assert guarded.report is not None
    assert {"missing gradient", "accumulated gradient", "movement"} <= set(guarded.report["verified"])


def test_an_optimizer_of_a_copy_is_told_of_a_model_that_is_compiled_in_place(tmp_path: Path) -> None:
    trained = train(SCRIPT, tmp_path, "train.py", "copy")
    assert ("optimizer parameters", "error") in trained.told, trained.err
