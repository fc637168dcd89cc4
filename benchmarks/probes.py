"""Times probes against importing what they need, and counts the cells that `knowledge measure` fills in a minute.

    python benchmarks/probes.py --python base/bin/python [--cells transformers --versions '>=5.20' --layers DIR]

`--python` is an interpreter with torch and, for the first part, transformers and peft. The first part runs every probe
that can run there on the CPU in one process, and imports the three alone, in turns; it prints the ratio of the time,
the peak of the memory and what the runner itself costs. With `--cells` the second part measures releases whose layers
are there already, with all their probes, into a scratch folder.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gradcompat.model.probe import ProbeSpec
from gradcompat.probes.runner import Interpreter, Job, run
from gradcompat.recipes.table import RECIPES

IMPORTS = "import torch, transformers, peft"
NOTHING = "def measure(parameters, device, seed):\n    return {'nothing': 1}\n"
FIXED = ("accumulation_equivalence", "gradient_flow")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--python", required=True, type=Path, help="an interpreter with torch")
    options.add_argument("--runs", type=int, default=3, help="processes of each kind")
    options.add_argument("--layer", action="append", default=[], type=Path, help="a folder that stands before its own")
    options.add_argument("--cells", metavar="PACKAGE", help="only this: measure releases of a package")
    options.add_argument("--versions", default="*", help="which releases of it")
    options.add_argument("--layers", type=Path, help="where they are laid down")
    arguments = options.parse_args()
    if arguments.cells:
        cells(arguments.python, arguments.cells, arguments.versions, arguments.layers)
        return
    interpreter = Interpreter(path=arguments.python, layers=tuple(arguments.layer), bytecode=True)
    overhead(arguments.python, arguments.runs)
    against_imports(interpreter, arguments.runs)


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock, and of processors: ours, and those of every process that was started."""

    def used() -> float:
        both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return sum(one.ru_utime + one.ru_stime for one in both)

    before, start = used(), time.perf_counter()
    work()
    return time.perf_counter() - start, used() - before


def middle(times: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(wall for wall, _ in times), statistics.median(processor for _, processor in times)


def overhead(python: Path, runs: int) -> None:
    """A recipe that does nothing, against the start of the interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder) / "nothing.py"
        recipe.write_text(NOTHING)
        job = Job(spec=ProbeSpec(name="nothing"), recipe=str(recipe))
        ours, bare = [], []
        for _ in range(max(5, runs)):
            ours.append(spent(lambda: run([job], Interpreter(path=python))))
            bare.append(spent(lambda: subprocess.run([str(python), "-c", "pass"], check=True)))
    (wall, processor), (bare_wall, bare_processor) = middle(ours), middle(bare)
    print(
        f"the runner itself, beside the start of the interpreter: {(wall - bare_wall) * 1000:.0f} ms, "
        f"{(processor - bare_processor) * 1000:.0f} ms of processor time (wanted: below 100)"
    )


def against_imports(interpreter: Interpreter, runs: int) -> None:
    """The first variant of every recipe that the interpreter has the packages for, against the imports alone."""
    jobs = [
        Job(
            spec=ProbeSpec(name=recipe.name, parameters=parameters), recipe=recipe.module, devices=recipe.devices,
            environment=recipe.environment, alone=recipe.alone, seconds=recipe.seconds,
        )
        for recipe in RECIPES
        if "cpu" in recipe.devices
        for parameters in recipe.variants[:1] or ({},)
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, interpreter.layers))}
    command = [str(interpreter.path), "-c", IMPORTS]
    probing, importing = [], []
    states: list[str] = []
    for _ in range(runs):
        probing.append(spent(lambda: states.extend(one.state for one in run(jobs, interpreter))))
        importing.append(spent(partial(subprocess.run, command, check=True, env=environment)))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    (wall, processor), (import_wall, import_processor) = middle(probing), middle(importing)
    last = states[-len(jobs) :]
    counted = ", ".join(f"{last.count(state)} {state}" for state in dict.fromkeys(last))
    print(
        f"{len(jobs)} probes ({counted}) / `{IMPORTS}`: {wall / import_wall:.2f} (reach 3, aim at 2): {wall:.1f} s / "
        f"{import_wall:.1f} s; of processor time {processor / import_processor:.2f}: {processor:.1f} s / "
        f"{import_processor:.1f} s; peak of one process {peak:.0f} MB (wanted: 2048)"
    )


def cells(python: Path, package: str, versions: str, layers: Path | None) -> None:
    """What `knowledge measure` fills in a minute; the first run lays down what is missing and does not count."""
    for counts in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "gradcompat", "knowledge", "measure", package, *FIXED]
            command += ["--versions", versions, "--python", str(python), "--output", folder]
            command += ["--layers", str(layers)] if layers is not None else []
            start = time.perf_counter()
            subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
            files = list(Path(folder).glob("*.jsonl"))
            rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
        if counts:
            measured = sum(row["state"] == "measured" for row in rows)
            print(
                f"knowledge measure: {len(rows)} cells ({measured} measured) in {seconds:.0f} s, "
                f"{len(rows) / seconds * 60:.0f} a minute on {os.cpu_count()} processors (reach 15)"
            )


if __name__ == "__main__":
    main()
