"""What do pairs and code findings cost? Processor time of `check` with and without them, in turn.

    python benchmarks/breaks.py FILE... [--runs 5] [--largest 20]

Checks the largest of the files, each in a process of its own. Without them no package has a table, and the file of
pairs is empty. Prints the sum of the medians and their ratio; the aim is at most 1.15.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path

_CHECK = """
import sys
from gradcompat.breaks import pairs
if sys.argv[1] == "without":
    pairs._content = lambda path: {}
    from gradcompat.releases import table
    table._index = lambda: {}
    table._tops = lambda: {}
from gradcompat.cli.main import main
sys.argv[1:2] = ["check"]
sys.stdout = open("/dev/null", "w")
sys.exit(main())
"""


def used(mode: str, target: str) -> float:
    """Processor time of one check, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", _CHECK, mode, target], stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Time each of the largest files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--largest", type=int, default=20)
    asked = parser.parse_args()
    largest = sorted(asked.files, key=lambda path: -path.stat().st_size)[: asked.largest]
    sums = {"with": 0.0, "without": 0.0}
    for path in largest:
        times: dict[str, list[float]] = {mode: [] for mode in sums}
        for _ in range(asked.runs):
            for mode, some in times.items():
                some.append(used(mode, str(path)))
        medians = {mode: statistics.median(some) for mode, some in times.items()}
        for mode, median in medians.items():
            sums[mode] += median
        print(json.dumps({"file": path.name, **{mode: round(median, 4) for mode, median in medians.items()}}))
    print(f"with {sums['with']:.2f} s, without {sums['without']:.2f} s, ratio {sums['with'] / sums['without']:.3f}")


if __name__ == "__main__":
    main()
