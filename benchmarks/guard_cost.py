"""What the guard costs: the time of guarded steps and of later ones, against those of a run without it.

    python benchmarks/guard_cost.py --python base/bin/python [--runs 3] [--device cuda]

`--python` is an interpreter with torch. A Transformer of 50 million weights takes a few steps on one processor, or on a
GPU; the guard looks at the first ones. Processor time is measured on the CPU, and on a GPU how long a step takes until
the device has done it. The start of an interpreter that imports torch is measured with the guard and without.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from gradcompat.guard.launch import environment
from gradcompat.guard.options import Options

STEPS = 4
LATER = 8
TRAIN = f"""\
import json, resource, sys, time
import torch
from torch.nn import functional as F

device = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
body = torch.nn.TransformerEncoder(layer, 6)
model = torch.nn.Sequential(torch.nn.Embedding(8000, 768), body, torch.nn.Linear(768, 2)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
used = []

def now():
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()

for step in range({STEPS + LATER + 2}):
    start = now()
    for micro in range(2):
        ids = torch.randint(0, 8000, (4, 64)).to(device)
        labels = torch.randint(0, 2, (256,)).to(device)
        (F.cross_entropy(model(ids).reshape(-1, 2), labels) / 2).backward()
    optimizer.step()
    optimizer.zero_grad()
    used.append(now() - start)
resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak = resident if device == "cpu" else torch.cuda.max_memory_allocated() // 1024
print(json.dumps({{"weights": sum(one.numel() for one in model.parameters()), "steps": used,
                  "eight": sum(sorted(one.numel() * 4 for one in model.parameters())[-8:]),
                  "memory": peak}}))
"""
START = "import time, torch; print(time.process_time())"


def main() -> None:
    """The command."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--python", required=True, type=Path, help="an interpreter with torch")
    options.add_argument("--runs", type=int, default=3, help="processes of each kind")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where the steps run")
    arguments = options.parse_args()
    guarded, plain = [], []
    for _ in range(arguments.runs):  # in turn, so that a drifting machine favours neither
        guarded.append(json.loads(ran(arguments.python, TRAIN, arguments.device, guard=True)))
        plain.append(json.loads(ran(arguments.python, TRAIN, arguments.device, guard=False)))
    # The first step allocates, in both.
    first = [statistics.median(one["steps"][1:STEPS]) for one in guarded]
    later = [statistics.median(one["steps"][STEPS + 1 :]) for one in guarded]
    alone_first = [statistics.median(one["steps"][1:STEPS]) for one in plain]
    alone_later = [statistics.median(one["steps"][STEPS + 1 :]) for one in plain]
    print(f"{guarded[0]['weights'] / 1e6:.0f} million weights, two micro-batches a step")
    print(f"guarded steps: {statistics.median(first) / statistics.median(alone_first):.3f} times a plain one")
    print(f"later steps: {statistics.median(later) / statistics.median(alone_later):.3f} times a plain one")
    extra = statistics.median(one["memory"] for one in guarded) - statistics.median(one["memory"] for one in plain)
    largest = guarded[0]["eight"] / 2**20
    print(f"peak of the memory: {extra / 1024:+.0f} MiB; the eight largest gradients have {largest:.0f}")
    starts = [
        (float(ran(arguments.python, START, guard=True)), float(ran(arguments.python, START, guard=False)))
        for _ in range(2 * arguments.runs)
    ]
    with_guard, without = (statistics.median(one[which] for one in starts) for which in (0, 1))
    print(f"start with torch: {with_guard - without:+.3f} s of {without:.2f} s")


def ran(python: Path, code: str, *given: str, guard: bool) -> str:
    """What a program printed."""
    plain = {**os.environ, "OMP_NUM_THREADS": "1"}
    settings = Options(steps=STEPS, report="", python=sys.executable)
    with tempfile.TemporaryDirectory() as scratch:
        return subprocess.run(
            [str(python), "-c", code, *given],
            cwd=scratch,
            env=environment(settings, plain) if guard else plain,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        ).stdout


if __name__ == "__main__":
    main()
