"""Times probes against importing what they need, and counts the cells that `knowledge measure` fills in a minute.

    python benchmarks/probes.py --python base/bin/python [--cells transformers --versions '>=5.20' --layers DIR]

`--python` is an interpreter with torch and, for the first part, transformers and peft. The first part runs
`gradcompat probe`, every probe that applies to what is installed there, and imports the three alone, in turns; it
prints the ratio of the time, the peak of the memory and what the runner itself costs. With `--cells` the second part
measures releases whose layers are there already, with all their probes, into a scratch folder.
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

IMPORTS = "import torch, transformers, peft"
NOTHING = "def measure(parameters, device, seed):\n    return {'nothing': 1}\n"
FIXED = ("accumulation_equivalence", "gradient_flow")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--python", required=True, type=Path, help="an interpreter with torch")
    options.add_argument("--runs", type=int, default=3, help="processes of each kind")
    options.add_argument("--cells", metavar="PACKAGE", help="only this: measure releases of a package")
    options.add_argument("--versions", default="*", help="which releases of it")
    options.add_argument("--layers", type=Path, help="where they are laid down")
    arguments = options.parse_args()
    if arguments.cells:
        cells(arguments.python, arguments.cells, arguments.versions, arguments.layers)
        return
    overhead(arguments.python, arguments.runs)
    against_imports(arguments.python, arguments.runs)


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


def against_imports(python: Path, runs: int) -> None:
    """Every probe of the records that speak of what is installed there, against the imports alone."""
    command = [sys.executable, "-m", "gradcompat", "probe", "--python", str(python), "--device", "cpu"]
    bare = [str(python), "-c", IMPORTS]
    probing, importing = [], []
    printed = ""

    def probe() -> None:
        nonlocal printed
        printed = subprocess.run([*command, "--format", "json"], check=False, capture_output=True, text=True).stdout

    for _ in range(runs):
        probing.append(spent(probe))
        importing.append(spent(partial(subprocess.run, bare, check=True)))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    (wall, processor), (import_wall, import_processor) = middle(probing), middle(importing)
    outcomes = [result["outcome"] for result in json.loads(printed)["results"]]
    counted = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
    print(
        f"{len(outcomes)} probes ({counted}) / `{IMPORTS}`: {wall / import_wall:.2f} (reach 3, aim at 2): "
        f"{wall:.1f} s / {import_wall:.1f} s; of processor time {processor / import_processor:.2f}: "
        f"{processor:.1f} s / {import_processor:.1f} s; peak of one process {peak:.0f} MB (wanted: 2048)"
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
