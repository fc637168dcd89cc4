"""Ranges that were measured, as text: a line a range, and below it what is not known."""

from __future__ import annotations

from typing import TextIO

from gradcompat.messages import counted
from gradcompat.model.issue import IssueProbe
from gradcompat.model.ranges import Ranges
from gradcompat.renderers.terminal import width, wrapped


def render(package: str, probe: IssueProbe, found: Ranges, out: TextIO) -> None:
    """Write one probe's ranges."""
    columns = width()
    about = f" ({', '.join(probe.quantities)})" if probe.quantities else ""
    out.write(wrapped(f"{package}: {probe.spec}{about}", columns, "", "    ") + "\n")
    for interval in found.affected:
        out.write(f"  {package} {interval.versions}\n")
        for doubt in interval.doubts:
            out.write(wrapped(doubt, columns, "    ", "    ") + "\n")
    if not found.affected:
        out.write("  never reproduced\n")
    without = sum(len(gap.releases) for gap in found.unknown)
    said = f"{counted(found.right, 'release')} right"
    if without:
        said += f", {without} without a verdict: {', '.join(map(str, found.unknown))}"
    out.write(wrapped(said, columns, "  ", "    ") + "\n")
