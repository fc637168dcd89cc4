"""What one recipe showed in the releases of one package: a table of verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.model.probe import Outcome, ProbeSpec
from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One variant in one release.

    Attributes:
        outcome: the verdict; None where the cell was never run, which is not the same as clean.
        sign: one letter: ``X`` wrong, ``.`` right, ``?`` inconclusive, ``-`` cannot be run there, `` `` not run; a
            recipe may have letters of its own for what is wrong only in part.
        text: the verdict in words.
    """

    outcome: Outcome | None
    sign: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All variants of a recipe in all releases that were looked at.

    Attributes:
        package: whose releases they are.
        recipe: what was measured.
        summary: the same in a sentence.
        variants: the probes, in the order of the picture.
        labels: how each is called.
        releases: from low to high.
        cells: by variant and release.
        signs: letter → meaning, of the letters that occur.
        basis: how it is known.
        made_with: versions of torch and Python, the device, the dates; behind the basis.
    """

    package: str
    recipe: str
    summary: str
    variants: tuple[ProbeSpec, ...]
    labels: tuple[str, ...]
    releases: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    signs: Mapping[str, str]
    made_with: str
    basis: str = "measured with"

    def cell(self, variant: ProbeSpec, release: str) -> Cell:
        """The cell of a variant in a release."""
        return self.cells.get((str(variant), release), NOT_RUN)


NOT_RUN = Cell(outcome=None, sign=" ", text="not run")
