"""Runs the trials of the guard and writes their table.

    cd benchmarks && python -m guard_trials --python base/bin/python --layers DIR [--only TEXT] [--write ../docs/guard.md]

`--python` is an interpreter with torch 2.13.0, transformers 4.49.0, accelerate 1.4.0 and peft 0.15.0; the other
releases are laid over it, from the package index where they are not in `--layers` yet. A cell that could not be run is
not in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcompat.probes.overlay_environments import Overlay, describe, layer
from guard_trials.cells import STACKS, TOLERANCE, Cell, cells

ROOT = Path(__file__).parents[2]
INSIDE = Path(__file__).parent / "inside.py"
BEGIN, END = "<!-- trials -->", "<!-- end of trials -->"
_SECONDS = 580


@dataclass(frozen=True)
class Outcome:
    """What became of a cell.

    Attributes:
        cell: which.
        found: what ``inside.py`` printed.
    """

    cell: Cell
    found: dict[str, Any]

    @property
    def ran(self) -> bool:
        """Whether it came to an end."""
        return not self.found.get("error") and not self.found.get("failed")

    @property
    def told(self) -> list[str]:
        """Detectors that spoke, but for notes."""
        return [detector for detector, level, _ in self.found.get("findings", ()) if level != "note"]

    @property
    def right(self) -> bool:
        """Whether the guard said what it has to."""
        if self.cell.healthy:
            return not self.told and self.found.get("same") is True
        if not set(self.told) & set(self.cell.detectors):
            return False
        weights = self.found.get("weights") or [None]
        if self.cell.ratio is None or weights[0] is None or "objective weight" not in self.told or not weights[0]:
            return True
        return bool(abs(weights[0] / self.cell.ratio - 1) <= TOLERANCE)


def main() -> int:
    """The command; 0 if every cell that ran is right."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--python", required=True, type=Path, help="the base environment's interpreter")
    options.add_argument("--layers", required=True, type=Path, help="where releases are laid down")
    options.add_argument("--only", default="", help="cells with this in their name")
    options.add_argument("--write", type=Path, help="the page to write the table into")
    options.add_argument("--keep", type=Path, help="a file for everything that was measured")
    arguments = options.parse_args()
    chosen = [cell for cell in cells() if arguments.only in cell.name]
    outcomes = run(chosen, arguments.python, arguments.layers)
    if arguments.keep is not None:
        kept = [{"name": one.cell.name, "right": one.right, **one.found} for one in outcomes]
        arguments.keep.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    if arguments.write is not None:
        rewrite(arguments.write, table(outcomes))
    for one in outcomes:
        if not one.right:
            print(f"{one.cell.name}: expected {one.cell.detectors or 'nothing'}: {one.found}"[:1500])
    print(summary(outcomes))
    return 0 if all(one.right for one in outcomes if one.ran) else 1


def run(chosen: Iterable[Cell], python: Path, layers: Path) -> list[Outcome]:
    """One process a stack, whose cells follow one another."""
    by_stack: dict[str, list[Cell]] = defaultdict(list)
    for cell in chosen:
        by_stack[cell.stack].append(cell)
    base = describe(python)
    outcomes = []
    for stack, group in by_stack.items():
        laid = [Overlay(name=pin.split("==")[0], version=pin.split("==")[1]) for pin in STACKS[stack]]
        folders = [layer(base, one, layers) for one in laid]
        found = _inside(group, python, folders)
        outcomes += [Outcome(cell, found.get(cell.name, {"error": "the process ended"})) for cell in group]
        print(f"{stack}: {summary(outcomes[-len(group) :])}", file=sys.stderr)
    return outcomes


def _inside(group: Sequence[Cell], python: Path, folders: Sequence[Path]) -> dict[str, dict[str, Any]]:
    jobs = [{**cell.job, "name": cell.name, "healthy": cell.healthy} for cell in group]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        job = Path(scratch) / "cells.json"
        job.write_text(json.dumps(jobs), "utf-8")
        done = subprocess.run(
            [str(python), str(INSIDE), str(ROOT / "gradcompat"), str(job)],
            cwd=scratch,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(rows) < len(jobs):
        print(done.stderr[-2000:], file=sys.stderr)
    return {row.pop("name"): row for row in rows}


def summary(outcomes: Sequence[Outcome]) -> str:
    """Counts, in one line."""
    ran = [one for one in outcomes if one.ran]
    affected = [one for one in ran if not one.cell.healthy]
    healthy = [one for one in ran if one.cell.healthy]
    alarms = sum(bool(one.told) for one in healthy)
    same = sum(one.found.get("same") is True for one in healthy)
    return (
        f"{sum(one.right for one in affected)} of {len(affected)} affected cells told with the right cause, "
        f"{alarms} false alarms in {len(healthy)} healthy ones, {same} of them with the same weights bit for bit, "
        f"{len(outcomes) - len(ran)} not run"
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """The page's part: a summary and a row a cell."""
    rows = ["| Releases | Way in | What | Should be told | Told |", "|---|---|---|---|---|"]
    for one in outcomes:
        if not one.ran:
            continue
        wanted = " or ".join(one.cell.detectors) or "nothing"
        told = ", ".join(dict.fromkeys(one.told)) or ("nothing, same weights" if one.found.get("same") else "nothing")
        mark = "" if one.right else " **wrong**"
        rows.append(f"| {one.cell.stack} | `{one.cell.way}` | {one.cell.what} | {wanted} | {told}{mark} |")
    return f"{summary(outcomes)[0].upper()}{summary(outcomes)[1:]}.\n\n" + "\n".join(rows)


def rewrite(page: Path, part: str) -> None:
    """Put the table between its marks.

    Raises:
        ValueError: if the page has no place for it.
    """
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no lines `{BEGIN}` and `{END}`")
    page.write_text(f"{before}{BEGIN}\n\n{part}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
