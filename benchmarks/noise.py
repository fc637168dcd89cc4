"""How much `gradcompat check` says: lines and findings for each file and folder.

    python benchmarks/noise.py DIR... [--each] [--width 100] [--folder]

Every file below the folders that a reader or a scanner knows by its name or content is checked alone; with `--folder`
each folder is checked as a whole instead. Prints median, 90th percentile and most of the lines of the report and of the
findings that are affected, could apply or are dormant.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import gradcompat
from gradcompat.model.report import Report
from gradcompat.renderers.text import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One report: its lines, and its findings by status."""

    path: Path
    lines: int
    affected: int
    conditional: int
    dormant: int
    exit_status: int


def row_of(path: Path, report: Report) -> Row:
    """Count a report as it is printed."""
    out = io.StringIO()
    render(report, out)
    statuses = Counter(reported.finding.status for reported in report.findings)
    return Row(
        path=path,
        lines=len(out.getvalue().splitlines()),
        affected=statuses["affected"],
        conditional=statuses["conditional"],
        dormant=statuses["dormant"],
        exit_status=report.exit_status,
    )


def targets_in(folder: Path, *, folders: bool) -> Iterator[Path]:
    """The folder itself, or every file below it."""
    if folders:
        yield folder
        return
    for parent, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from (Path(parent, file) for file in sorted(files))


def summary(rows: Sequence[Row]) -> str:
    """A line for each count: median, 90th percentile, most and sum."""
    text = f"{len(rows)} reports{'':14} median   90 %   most    sum\n"
    for name in ("lines", "affected", "conditional", "dormant"):
        values = sorted(getattr(row, name) for row in rows)
        ninth = values[min(len(values) - 1, int(0.9 * len(values)))]
        label = "could apply" if name == "conditional" else name
        text += f"{label:24} {statistics.median(values):6g} {ninth:6} {values[-1]:6} {sum(values):6}\n"
    statuses = Counter(row.exit_status for row in rows)
    return text + "exit statuses: " + ", ".join(f"{status} x {count}" for status, count in sorted(statuses.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--each", action="store_true", help="print a line for each report")
    parser.add_argument("--folder", action="store_true", help="check each folder as a whole")
    parser.add_argument("--width", type=int, default=100, help="columns of the report")
    given = parser.parse_args()
    os.environ["COLUMNS"] = str(given.width)
    rows = []
    for folder in given.folders:
        for target in targets_in(folder, folders=given.folder):
            report = gradcompat.check(target)
            if any(audit.packages for audit in report.audits):
                rows.append(row := row_of(target, report))
                if given.each:
                    print(f"{row.lines:5} {row.affected:3} {row.conditional:4} {row.dormant:4}  {target}")
    if not rows:
        sys.exit("nothing below these folders lists packages")
    print(summary(rows))


if __name__ == "__main__":
    main()
