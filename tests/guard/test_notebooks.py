"""A notebook whose kernel is guarded; skipped where the interpreter that trains has no Jupyter kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradcompat.guard.launch import environment
from gradcompat.guard.options import Options
from tests.guard.test_training import loop
from tests.probes.really import INTERPRETER, LAYERS, NEEDS_TORCH

pytestmark = NEEDS_TORCH

# Runs cells as Jupyter does, in a kernel of this interpreter, and prints what they print.
NOTEBOOK = """
import asyncio, importlib.util, json, sys
missing = [one for one in ("nbclient", "nbformat", "ipykernel") if importlib.util.find_spec(one) is None]
if missing:
    print("missing", *missing)
    raise SystemExit
import nbclient, nbformat
from jupyter_client import AsyncKernelManager

manager = AsyncKernelManager()
manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in json.load(open("cells.json"))])
nbclient.NotebookClient(notebook, km=manager, timeout=200, allow_errors=True).execute()
for cell in notebook.cells:
    for output in cell.outputs:
        text = output.get("text") or "\\n".join([output.get("ename", ""), output.get("evalue", "")])
        print(output.get("name", output.output_type), text)
"""
EXPLICIT = """
from gradcompat.guard import Guard
with Guard(model):
    train()
"""


def cells(between: str = "pass", *, explicit: bool = False) -> list[str]:
    head, body = loop(between=between).split("for step", 1)
    indented = "\n".join(f"    {line}" for line in f"for step{body}".splitlines())
    return [head, f"def train():\n{indented}", EXPLICIT if explicit else "train()", "print('still alive')"]


def executed(folder: Path, code: list[str], *, guarded: bool) -> str:
    (folder / "cells.json").write_text(json.dumps(code), "utf-8")
    (folder / "notebook.py").write_text(NOTEBOOK, "utf-8")
    paths = os.pathsep.join([*(str(one) for one in LAYERS), str(Path(__file__).parents[2])])
    plain = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, "IPYTHONDIR": str(folder / "ipython")}
    options = Options(report=str(folder / "report.json"), python=sys.executable)
    done = subprocess.run(
        [INTERPRETER, "notebook.py"],
        cwd=folder,
        env=environment(options, plain) if guarded else plain,
        capture_output=True,
        text=True,
        timeout=290,
        check=False,
    )
    if done.stdout.startswith("missing"):
        pytest.skip(f"the interpreter has no {done.stdout.split(maxsplit=1)[1].strip()}")
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def weights(printed: str) -> list[str]:
    return [line.split()[-1] for line in printed.splitlines() if "0x1." in line]


@pytest.mark.parametrize("explicit", [False, True], ids=["gradcompat run", "Guard"])
def test_a_healthy_cell_has_the_same_weights(tmp_path: Path, explicit: bool) -> None:
    guarded = executed(tmp_path, cells(explicit=explicit), guarded=not explicit)
    alone = executed(tmp_path, cells(), guarded=False)
    assert "gradcompat guard: 2 steps verified" in guarded
    assert weights(guarded) == weights(alone)
    assert len(weights(alone)) == 1


def test_a_defect_ends_the_cell_and_not_the_kernel(tmp_path: Path) -> None:
    erased = cells("if micro == 1: optimizer.zero_grad()")
    printed = executed(tmp_path, erased, guarded=True)
    assert "the optimizer gets" in printed
    assert "still alive" in printed
    assert weights(printed) == []
