"""`gradcompat run` before the launchers of torch, accelerate and DeepSpeed, from the command to the report."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guard.test_training import loop
from tests.probes.really import INTERPRETER, LAYERS, NEEDS_TORCH

pytestmark = [*NEEDS_TORCH, pytest.mark.e2e]

RANKS = """
import os
if int(os.environ.get("WORLD_SIZE", 1)) > 1:
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
    torch.manual_seed(torch.distributed.get_rank())
"""
LAUNCHERS = {
    "accelerate": ("accelerate.commands.launch", "--cpu", "--num_processes", "1"),
    "torchrun": ("torch.distributed.run", "--standalone", "--nproc_per_node", "2"),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_hands_the_guard_on(tmp_path: Path, launcher: str) -> None:
    """With its environment, and the status 86 comes back through the traceback that a launcher adds."""
    (tmp_path / "train.py").write_text(loop(before=RANKS), "utf-8")
    (tmp_path / "lost.py").write_text(loop(before=RANKS, between="if micro == 1: optimizer.zero_grad()"), "utf-8")
    ranks = 2 if launcher == "torchrun" else 1

    healthy = _launched(tmp_path, *LAUNCHERS[launcher], "train.py")
    assert healthy.returncode == 0, healthy.stderr
    report = json.loads((tmp_path / "gradcompat-guard.json").read_text("utf-8"))
    assert [(one["ranks"], round(one["objective_weight"], 6)) for one in report["measured"]] == [(ranks, 1.0)] * 2
    assert healthy.stderr.count("gradcompat guard: looks at the first 2 optimizer steps") == 1

    lost = _launched(tmp_path, *LAUNCHERS[launcher], "lost.py")
    assert lost.returncode == 86, lost.stderr
    assert lost.stderr.count("gradcompat guard: error: the optimizer gets") == 1


# DeepSpeed puts `--local_rank` before what a script is called with.
ENGINE = """
import sys
import torch
from torch.nn import functional as F
import deepspeed

stage, what = int(sys.argv[-2]), sys.argv[-1]
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # a kernel for inference, which would be compiled
deepspeed.init_distributed(dist_backend="gloo", verbose=False)
rank = torch.distributed.get_rank()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
settings = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 4,
    # At stage 3 tensors as small as these would stay whole.
    "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0},
    "zero_allow_untested_optimizer": True,
}
engine, *_ = deepspeed.initialize(model=model, model_parameters=list(model.parameters()), config=settings,
                                  optimizer=torch.optim.SGD(model.parameters(), lr=0.05))
generator = torch.Generator().manual_seed(rank)
for micro in range(12):
    x, y = torch.randn(8, 8, generator=generator), torch.randint(0, 3, (8,), generator=generator)
    engine.backward(F.cross_entropy(engine(x), y))
    if what == "lost" and micro % 4 == 1:
        engine.optimizer.zero_grad()
    engine.step()
sys.stdout.write(f"trained {rank}\\n")
del engine, model
torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def _deepspeed() -> None:
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('deepspeed') is None)"
    paths = {"PYTHONPATH": os.pathsep.join(map(str, LAYERS))}
    if subprocess.run([INTERPRETER, "-c", code], env={**os.environ, **paths}, check=False).returncode:
        pytest.skip("deepspeed is not laid over the interpreter")


@pytest.mark.usefixtures("_deepspeed")
@pytest.mark.parametrize(("stage", "ranks"), [(0, 1), (1, 2), (2, 2), (3, 2)])
def test_the_launcher_of_deepspeed_hands_the_guard_on(tmp_path: Path, stage: int, ranks: int) -> None:
    """Over its own runner, which starts another process, which starts the ranks."""
    healthy = _under_deepspeed(tmp_path, ranks, stage, "right")
    assert healthy.returncode == 0, healthy.stderr
    assert healthy.stdout.count("trained") == ranks
    report = json.loads((tmp_path / "gradcompat-guard.json").read_text("utf-8"))
    assert (report["steps"], report["findings"]) == (2, [])
    assert [(one["ranks"], round(one["objective_weight"], 6)) for one in report["measured"]] == [(ranks, 1.0)] * 2
    assert {"objective weight", "token weights", "accumulated gradient"} <= set(report["verified"])
    # Under ZeRO the optimizer has parts of gradients, and copies of parameters.
    hidden = {"missing gradient", "movement", "optimizer parameters"}
    assert hidden <= ({one["what"] for one in report["unverified"]} if stage else set(report["verified"]))
    assert report["settings"]["deepspeed.zero_stage"] == stage
    assert healthy.stderr.count("gradcompat guard: looks at the first 2 optimizer steps") == 1


@pytest.mark.usefixtures("_deepspeed")
@pytest.mark.parametrize("stage", [0, 3])  # at stage 2 `zero_grad` leaves what was accumulated
def test_the_launcher_of_deepspeed_ends_with_the_status_of_the_guard(tmp_path: Path, stage: int) -> None:
    lost = _under_deepspeed(tmp_path, 2, stage, "lost")
    assert lost.returncode == 86, lost.stderr
    assert lost.stderr.count("gradcompat guard: error: the optimizer gets") == 1
    assert "trained" not in lost.stdout


def _under_deepspeed(folder: Path, ranks: int, stage: int, what: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(ENGINE, "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    launcher = ("deepspeed.launcher.runner", "--num_gpus", str(ranks), "--master_port", str(port))
    return _launched(folder, *launcher, "train.py", str(stage), what)


def _launched(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    settings = {"OMP_NUM_THREADS": "1", "HF_HOME": str(folder), "PYTHONPATH": os.pathsep.join(map(str, LAYERS))}
    return subprocess.run(
        [sys.executable, "-P", "-m", "gradcompat", "run", "--", INTERPRETER, "-m", *command],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
