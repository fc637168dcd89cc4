"""Parameters of which each process holds a part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_training import loop, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

CLIPPED = "if micro == 3: model.clip_grad_norm_({})"
FSDP = """
from torch import distributed
from torch.distributed.fsdp import FullyShardedDataParallel

distributed.init_process_group("gloo")
torch.manual_seed(distributed.get_rank())
model = FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params={})
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
"""


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "train.py")


@pytest.mark.parametrize("original", [True, False])
def test_fsdp_1_is_no_defect_and_clipped_over_all_ranks(tmp_path: Path, original: bool) -> None:
    script = loop(before=FSDP.format(original), steps=3, between=CLIPPED.format(0.01))
    trained = train(script, tmp_path, *TORCHRUN)
    assert trained.told == [], trained.err
    assert trained.report is not None
    assert trained.report["steps"] == 2
    assert {"clipping", "finite loss"} <= set(trained.report["verified"])
    assert "missing gradient" in {one["what"] for one in trained.report["unverified"]}
    settings = trained.report["settings"]
    assert (settings["distributed.strategy"], settings["fsdp.version"]) == ("fsdp", 1)
    assert settings["fsdp.sharding_strategy"] == "FULL_SHARD"
    assert settings["fsdp.use_orig_params"] is original


def test_fsdp_1_that_clips_twice_is_told(tmp_path: Path) -> None:
    twice = f"{CLIPPED.format(0.1)}; model.clip_grad_norm_(0.01)"
    trained = train(loop(before=FSDP.format(True), steps=3, between=twice), tmp_path, *TORCHRUN)
    assert trained.told == [("clipping", "warning")], trained.err
