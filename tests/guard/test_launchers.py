"""`gradcompat run` before the launchers of torch and accelerate, from the command to the report."""

from __future__ import annotations

import json
import os
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

    healthy = _launched(tmp_path, launcher, "train.py")
    assert healthy.returncode == 0, healthy.stderr
    report = json.loads((tmp_path / "gradcompat-guard.json").read_text("utf-8"))
    assert [(one["ranks"], round(one["objective_weight"], 6)) for one in report["measured"]] == [(ranks, 1.0)] * 2
    assert healthy.stderr.count("gradcompat guard: looks at the first 2 optimizer steps") == 1

    lost = _launched(tmp_path, launcher, "lost.py")
    assert lost.returncode == 86, lost.stderr
    assert lost.stderr.count("gradcompat guard: error: the optimizer gets") == 1


def _launched(folder: Path, launcher: str, script: str) -> subprocess.CompletedProcess[str]:
    settings = {"OMP_NUM_THREADS": "1", "HF_HOME": str(folder), "PYTHONPATH": os.pathsep.join(map(str, LAYERS))}
    return subprocess.run(
        [sys.executable, "-P", "-m", "gradcompat", "run", "--", INTERPRETER, "-m", *LAUNCHERS[launcher], script],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
