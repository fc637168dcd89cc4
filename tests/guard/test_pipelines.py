"""Pipelines: a process has some layers alone, which the guard says cannot be verified."""

from __future__ import annotations

from pathlib import Path

from tests.guard.test_training import TORCHRUN, train
from tests.probes.really import NEEDS_TORCH

pytestmark = NEEDS_TORCH

# Gradients are divided by the micro-batches behind the loss, so that its labels seem to count 4 times.
PIPELINE = """
import torch
from torch import distributed
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.nn import functional as F

distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.manual_seed(0)
part = torch.nn.Linear(8, 16) if rank == 0 else torch.nn.Linear(16, 3)
optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
schedule = ScheduleGPipe(PipelineStage(part, rank, 2, torch.device("cpu")), n_microbatches=4, loss_fn=F.cross_entropy)
for step in range(4):
    x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
    schedule.step(x) if rank == 0 else schedule.step(target=y)
    optimizer.step()
    optimizer.zero_grad()
total = torch.stack([one.detach().double().sum() for one in part.parameters()]).sum()
distributed.all_reduce(total)
if rank == 0:
    print(total.item().hex())
del part, optimizer, schedule
distributed.destroy_process_group()
"""


def test_a_pipeline_is_said_to_be_not_verified(tmp_path: Path) -> None:
    guarded, alone = (train(PIPELINE, tmp_path, *TORCHRUN, guarded=one) for one in (True, False))
    assert (guarded.status, guarded.out) == (0, alone.out), guarded.err
    assert guarded.report is None
    said = [line for line in guarded.err.splitlines() if line.startswith("gradcompat guard")]
    assert said == [
        "gradcompat guard: the layers are parted over ranks (pipeline parallelism), which cannot be verified; "
        "nothing is guarded"
    ]
