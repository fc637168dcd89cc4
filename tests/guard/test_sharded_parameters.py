"""Parameters of which each process holds a part."""

from __future__ import annotations

from pathlib import Path

from tests.guard.test_training import loop, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

FSDP = """
from torch import distributed
from torch.distributed.fsdp import FullyShardedDataParallel

distributed.init_process_group("gloo")
torch.manual_seed(distributed.get_rank())
model = FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
"""


def test_fsdp_with_the_original_parameters_is_no_defect(tmp_path: Path) -> None:
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py")
    trained = train(loop(before=FSDP, steps=3), tmp_path, *torchrun)
    assert trained.told == []
    assert trained.report is not None
    assert trained.report["steps"] == 2
    assert "missing gradient" in {one["what"] for one in trained.report["unverified"]}
