"""What is wrong in the newest releases, for a terminal: a paragraph for each package."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TextIO

from gradcompat.knowledge.newest import NewestRelease
from gradcompat.messages import counted
from gradcompat.renderers.terminal import width, wrapped


def render(releases: Iterable[NewestRelease], out: TextIO) -> None:
    """Write the releases, one behind the other."""
    for number, release in enumerate(releases):
        out.write("\n" if number else "")
        out.write(f"{release.package} {release.version}: {numbers(release)}\n")
        for recipe, cells in groupby(release.wrong, key=lambda cell: cell.recipe):
            out.write(f"  {recipe}\n")
            for cell in cells:
                records = f" ({', '.join(cell.records)})" if cell.records else ""
                out.write(wrapped(f"{cell.verdict}{records}", width(), f"    {cell.variant}: ", "      ") + "\n")


def numbers(release: NewestRelease) -> str:
    """How much was measured in a release, and what came of it.

    >>> numbers(NewestRelease(package="a", version="1", wrong=(), right=2, undecided=0, dates=("", ""), torch=()))
    'nothing wrong in 2 probes'
    """
    total = len(release.wrong) + release.right + release.undecided
    found = f"{len(release.wrong)} wrong" if release.wrong else "nothing wrong"
    open_ones = f", {release.undecided} without a verdict" if release.undecided else ""
    return f"{found} in {counted(total, 'probe')}{open_ones}"
