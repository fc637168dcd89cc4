"""Runs the trials of the guard and writes their table.

    cd benchmarks
    python -m guard_trials --python base/bin/python --layers DIR [--only TEXT] [--write ../docs/guard.md]
    python -m guard_trials … --keep rows.json --minutes 30 --first deepspeed --write ../docs/guard.md

`--python` is an interpreter with torch 2.13.0, transformers 4.49.0, accelerate 1.4.0 and peft 0.15.0; the other
releases are laid over it, from the package index where they are not in `--layers` yet. A cell that could not be run is
not in the table. Every row remembers the code of the guard that it was run with, as git names the folder. With `--keep`
the rows of other code are run again, the affected cells first, or with `--healthy-first` those in which nothing may be
told, until `--minutes` are over; the table says how many rows are of today's code.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gradcompat.guard.findings import STOPPED
from gradcompat.probes.overlay_environments import Overlay, describe, layer
from guard_trials.cells import STACKS, TOLERANCE, TORCHRUN, Cell, cells

ROOT = Path(__file__).parents[2]
INSIDE = Path(__file__).parent / "inside.py"
BEGIN, END = "<!-- trials -->", "<!-- end of trials -->"
_SECONDS = 580
_CELLS_OF_A_PROCESS = 12


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

    @property
    def unverified(self) -> bool:
        """Whether the guard has told nothing, and says that it could not look."""
        return not self.told and bool(set(self.cell.detectors) & set(self.found.get("unverified", ())))

    @property
    def named(self) -> tuple[str, ...]:
        """Records that the guard named."""
        return tuple(self.found.get("records", ()))

    @property
    def explained(self) -> bool:
        """Whether a record that was measured for this defect is among those named."""
        return bool(set(self.named) & set(self.cell.records or ()))

    @property
    def engine(self) -> str:
        """The code of the guard, as git names it, and the day."""
        return str(self.found.get("engine", ""))


def main() -> int:
    """The command; 0 if every cell that ran is right."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--python", required=True, type=Path, help="the base environment's interpreter")
    options.add_argument("--layers", required=True, type=Path, help="where releases are laid down")
    options.add_argument("--only", default="", help="cells with this in their name")
    options.add_argument("--write", type=Path, help="the page to write the table into")
    options.add_argument("--keep", type=Path, help="a file of what was found; rows of today's code are not run again")
    options.add_argument("--minutes", type=float, help="begin no more cells after this time; older rows stay")
    options.add_argument("--first", default="", help="cells with this in their name before all others")
    options.add_argument("--healthy-first", action="store_true", help="look for false alarms before all else")
    options.add_argument("--no-run", action="store_true", help="only the cells that --keep has")
    arguments = options.parse_args()
    chosen = [cell for cell in cells() if arguments.only in cell.name]
    kept: dict[str, Any] = {}
    if arguments.keep is not None and arguments.keep.is_file():
        kept = json.loads(arguments.keep.read_text("utf-8"))
    if arguments.no_run:
        chosen = [cell for cell in chosen if cell.name in kept]
    engine = _engine()
    ends = math.inf if arguments.minutes is None else time.monotonic() + 60 * arguments.minutes
    for some in (
        []
        if arguments.no_run
        else batches(outdated(chosen, kept, engine), arguments.first, healthy_first=arguments.healthy_first)
    ):
        if time.monotonic() > ends:
            break
        for outcome in run(some, arguments.python, arguments.layers):
            if outcome.ran or outcome.cell.name not in kept:
                kept[outcome.cell.name] = outcome.found
            if arguments.keep is not None and outcome.ran:
                arguments.keep.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    outcomes = [Outcome(cell, kept[cell.name]) for cell in chosen if cell.name in kept]
    if arguments.write is not None:
        rewrite(arguments.write, table(outcomes, engine))
    for one in outcomes:
        if not one.right and not one.unverified:
            print(f"{one.cell.name}: expected {one.cell.detectors or 'nothing'}: {one.found}"[:1500])
    print(summary(outcomes))
    return 0 if all(one.right or one.unverified for one in outcomes if one.ran) else 1


def outdated(chosen: Iterable[Cell], kept: Mapping[str, Any], engine: str) -> list[Cell]:
    """Cells that were not run with this code of the guard.

    Args:
        chosen: cells.
        kept: rows of before, by the names of the cells.
        engine: the code at hand, and a date, which does not count.
    """
    return [cell for cell in chosen if _code(str(kept.get(cell.name, {}).get("engine", ""))) != _code(engine)]


def batches(chosen: Iterable[Cell], first: str, *, healthy_first: bool = False) -> Iterator[list[Cell]]:
    """Cells of one stack for one process, in the order in which they are worth their time.

    Args:
        chosen: cells.
        first: cells with this in their name come first; among equals the affected ones do.
        healthy_first: among equals the healthy ones do.
    """
    groups: dict[tuple[bool, bool, str], list[Cell]] = defaultdict(list)
    for cell in chosen:
        groups[not (first and first in cell.name), cell.healthy != healthy_first, cell.stack].append(cell)
    for key in sorted(groups, key=lambda key: key[:2]):
        for start in range(0, len(groups[key]), _CELLS_OF_A_PROCESS):
            yield groups[key][start : start + _CELLS_OF_A_PROCESS]


def _code(engine: str) -> str:
    return engine.partition(",")[0]


def run(chosen: Iterable[Cell], python: Path, layers: Path) -> Iterator[Outcome]:
    """One process a stack, whose cells follow one another; commands have processes of their own."""
    by_stack: dict[str, list[Cell]] = defaultdict(list)
    for cell in chosen:
        by_stack[cell.stack].append(cell)
    base, engine = describe(python), _engine()
    for stack, group in by_stack.items():
        laid = [Overlay(name=pin.split("==")[0], version=pin.split("==")[1]) for pin in STACKS[stack]]
        folders = [layer(base, one, layers) for one in laid]
        outcomes = []
        for cell, found in _of_stack(group, python, folders):
            outcomes.append(Outcome(cell, {**found, "engine": engine}))
            yield outcomes[-1]
        print(f"{stack}: {summary(outcomes)}", file=sys.stderr)


def _of_stack(group: Sequence[Cell], python: Path, folders: Sequence[Path]) -> Iterator[tuple[Cell, dict[str, Any]]]:
    within = [cell for cell in group if not cell.job.get("alone")]
    for start in range(0, len(within), _CELLS_OF_A_PROCESS):
        some = within[start : start + _CELLS_OF_A_PROCESS]
        found = _inside(some, python, folders)
        for cell in some:
            yield cell, found.get(cell.name, {"error": "the process ended"})
    for cell in group:
        if cell.job.get("alone"):
            yield cell, _alone(cell, python, folders)


def _engine() -> str:
    """The code of the guard as git names it, with a plus if files differ from it, and today's date."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = "+" if git("status", "--porcelain", "--", "gradcompat/guard") else ""
    return f"{git('rev-parse', '--short', 'HEAD:gradcompat/guard')}{changed}, {datetime.now(tz=timezone.utc):%Y-%m-%d}"


def _inside(group: Sequence[Cell], python: Path, folders: Sequence[Path]) -> dict[str, dict[str, Any]]:
    if not group:
        return {}
    jobs = [_job(cell) for cell in group]
    environment = _environment(folders)
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


def _job(cell: Cell) -> dict[str, Any]:
    return {**cell.job, "name": cell.name, "healthy": cell.healthy, "python": "" if cell.healthy else sys.executable}


def _environment(folders: Sequence[Path]) -> dict[str, str]:
    path = os.pathsep.join(map(str, folders))
    return {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def _alone(cell: Cell, python: Path, folders: Sequence[Path]) -> dict[str, Any]:
    """A program that knows nothing of the guard, by `gradcompat run`; a healthy one without it, too."""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "cells.json").write_text(json.dumps([_job(cell)]), "utf-8")
        program = [str(INSIDE), str(ROOT / "gradcompat"), "cells.json"]
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
        command = [str(python), *(launcher if cell.way == TORCHRUN else ()), *program]

        def run_it(*before: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*before, *command],
                cwd=scratch,
                env=_environment(folders),
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )

        done = run_it(sys.executable, "-P", "-m", "gradcompat", "run", "--report", "report.json", "--")
        try:
            report = json.loads((Path(scratch) / "report.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {"error": f"no report, status {done.returncode}: {done.stderr[-600:]}{done.stdout[-600:]}"}
        found = {
            "stopped": done.returncode == STOPPED,
            "findings": [[one["detector"], one["level"], one["text"]] for one in report["findings"]],
            "weights": [one["objective_weight"] for one in report["measured"]],
            "verified": report["verified"],
            "unverified": {one["what"]: one["reason"] for one in report["unverified"]},
            "records": [record for one in report["findings"] for record in one["records"]],
        }
        if cell.healthy:
            guarded, plain = _digest(done.stdout), _digest(run_it().stdout)
            found["same"] = guarded is not None and guarded == plain
        return found


def _digest(printed: str) -> str | None:
    """The digest of the weights that ``inside.py`` printed."""
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]).get("digest") if lines else None


def summary(outcomes: Sequence[Outcome]) -> str:
    """Counts, in one line."""
    ran = [one for one in outcomes if one.ran]
    affected = [one for one in ran if not one.cell.healthy]
    healthy = [one for one in ran if one.cell.healthy]
    alarms = sum(bool(one.told) for one in healthy)
    same = sum(one.found.get("same") is True for one in healthy)
    known = [one for one in affected if one.cell.records is not None and "records" in one.found]
    named = sum(one.explained for one in known)
    return (
        f"{sum(one.right for one in affected)} of {len(affected)} affected cells told "
        f"({sum(one.unverified for one in affected)} more cannot be verified, which the guard says), "
        f"the record of the defect named in {named} of {len(known)} that a release causes, "
        f"{alarms} false alarms in {len(healthy)} healthy ones, {same} of them with the same weights bit for bit, "
        f"{len(outcomes) - len(ran)} not run"
    )


def table(outcomes: Sequence[Outcome], engine: str) -> str:
    """The page's part: a summary, how old the rows are, and a row a cell.

    Args:
        outcomes: of the cells.
        engine: the code at hand.
    """
    rows = ["| Releases | Way in | What | Should be told | Told | Record |", "|---|---|---|---|---|---|"]
    ran = [one for one in outcomes if one.ran]
    for one in ran:
        wanted = " or ".join(one.cell.detectors) or "nothing"
        told = ", ".join(dict.fromkeys(one.told)) or ("nothing, same weights" if one.found.get("same") else "nothing")
        told = "not verified" if one.unverified else told
        mark = "" if one.right or one.unverified else " **wrong**"
        what = f"| {one.cell.stack} | `{one.cell.way}` | {one.cell.what} | {wanted} | {told}{mark} |"
        rows.append(f"{what} {_record(one)} |")
    engines = Counter(_code(one.engine) or "an earlier one" for one in ran)
    today = engines.pop(_code(engine), 0)
    older = ", ".join(f"{code} ({count})" for code, count in engines.most_common())
    whole = f"{summary(outcomes)[0].upper()}{summary(outcomes)[1:]}."
    command = "`git rev-parse --short HEAD:gradcompat/guard`"
    said = (
        f"{today} of {len(ran)} rows were run with the code of the guard that {command} names {_code(engine)}, which "
    )
    said += "was at hand when this table was written"
    said += f"; the others are of earlier code: {older}." if older else "."
    return f"{whole}\n\n{said}\n\n" + "\n".join(rows)


def _record(one: Outcome) -> str:
    """The record named; for a defect that was planted, none can be right."""
    if one.cell.records is None:
        return ""
    if not one.cell.detectors or "records" not in one.found:  # rows of before did not ask
        return ""
    right = [record for record in dict.fromkeys(one.named) if record in one.cell.records]
    if right:
        return ", ".join(right)
    return "none" if not one.named else f"{one.named[0]} **other**"


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
