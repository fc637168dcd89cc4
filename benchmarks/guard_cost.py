"""What the guard costs: processor time of guarded steps and of later ones, against those of a run without it.

    python benchmarks/guard_cost.py --python base/bin/python [--runs 3]

`--python` is an interpreter with torch. A Transformer of 50 million weights takes a few steps on one processor; the
guard looks at the first ones. The start of an interpreter that imports torch is measured with the guard and without.
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
import json, resource, time
import torch
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
body = torch.nn.TransformerEncoder(layer, 6)
model = torch.nn.Sequential(torch.nn.Embedding(8000, 768), body, torch.nn.Linear(768, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
used = []
for step in range({STEPS + LATER + 2}):
    start = time.process_time()
    for micro in range(2):
        ids, labels = torch.randint(0, 8000, (4, 64)), torch.randint(0, 2, (256,))
        (F.cross_entropy(model(ids).reshape(-1, 2), labels) / 2).backward()
    optimizer.step()
    optimizer.zero_grad()
    used.append(time.process_time() - start)
print(json.dumps({{"weights": sum(one.numel() for one in model.parameters()), "steps": used,
                  "eight": sum(sorted(one.numel() * 4 for one in model.parameters())[-8:]),
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}}))
"""
START = "import time, torch; print(time.process_time())"


def main() -> None:
    """The command."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--python", required=True, type=Path, help="an interpreter with torch")
    options.add_argument("--runs", type=int, default=3, help="processes of each kind")
    arguments = options.parse_args()
    guarded, plain = [], []
    for _ in range(arguments.runs):  # in turn, so that a drifting machine favours neither
        guarded.append(json.loads(ran(arguments.python, TRAIN, guard=True)))
        plain.append(json.loads(ran(arguments.python, TRAIN, guard=False)))
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


def ran(python: Path, code: str, *, guard: bool) -> str:
    """What a program printed."""
    plain = {**os.environ, "OMP_NUM_THREADS": "1"}
    settings = Options(steps=STEPS, report="", python=sys.executable)
    with tempfile.TemporaryDirectory() as scratch:
        return subprocess.run(
            [str(python), "-c", code],
            cwd=scratch,
            env=environment(settings, plain) if guard else plain,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
        ).stdout


if __name__ == "__main__":
    main()
