"""Packed samples that influence each other, by forward passes: whatever computes attention."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

# Attention of its own, which the guard cannot read a mask of.
PACKED = """
import sys
import torch
from torch.nn import functional as F

torch.manual_seed(0)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(32, 16), torch.nn.Linear(16, 32)
        self.norm, self.drop = torch.nn.BatchNorm1d(16, affine=False), torch.nn.Dropout(0.1)

    def forward(self, input_ids, position_ids, labels=None):
        x = self.drop(self.embed(input_ids))
        sample = (position_ids == 0).cumsum(-1)
        apart = sample[:, :, None] != sample[:, None, :]
        if sys.argv[1] == "leak":
            apart = torch.zeros_like(apart)
        length = input_ids.shape[1]
        hidden = apart | torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = (x @ x.mT).masked_fill(hidden, -1e9)
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        x = x + weights @ x
        if sys.argv[1] == "buffers":
            self.norm(x.detach().flatten(0, 1))
        logits = self.head(x)
        if labels is None:
            return (logits,)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return loss, (logits if sys.argv[1] != "no logits" else None)


model = Decoder()
if sys.argv[1] == "no logits":
    forward = Decoder.forward
    Decoder.forward = lambda self, **given: (forward(self, **given)[0].mean(),) if "labels" not in given else forward(
        self, **given)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
positions = torch.cat([torch.arange(6), torch.arange(6)])[None].repeat(2, 1)
for _ in range(5):
    ids = torch.randint(0, 32, (2, 12))
    model(input_ids=ids, position_ids=positions, labels=ids)[0].backward()
    optimizer.step()
    optimizer.zero_grad()
print(sum(p.double().sum().item() for p in model.state_dict().values()).hex())
"""


@pytest.mark.parametrize("kind", ["apart", "buffers"])
def test_samples_that_are_apart(tmp_path: Path, kind: str) -> None:
    trained = train(PACKED, tmp_path, "train.py", kind, GRADCOMPAT_GUARD_ALSO="packing")
    assert (trained.status, trained.told) == (0, []), trained.err
    assert trained.report is not None
    assert "packing" in trained.report["verified"]
    assert trained.out == train(PACKED, tmp_path, "train.py", kind, guarded=False).out


def test_samples_that_influence_each_other(tmp_path: Path) -> None:
    silent = train(PACKED, tmp_path, "train.py", "leak")
    assert (silent.status, silent.told) == (0, []), silent.err
    assert "packing (no mask was seen" in silent.err
    trained = train(PACKED, tmp_path, "train.py", "leak", GRADCOMPAT_GUARD_ALSO="packing")
    assert (trained.status, trained.told) == (86, [("packing", "error")]), trained.err
    assert "samples that share a row influence each other" in trained.err


def test_a_model_without_logits_is_not_tested(tmp_path: Path) -> None:
    trained = train(PACKED, tmp_path, "train.py", "no logits", GRADCOMPAT_GUARD_ALSO="packing")
    assert (trained.status, trained.told) == (0, []), trained.err
    assert "packing, by forward passes (the model gives no logits of tokens)" in trained.err
