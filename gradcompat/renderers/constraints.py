"""A constraints file: pins with their reasons as comments above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from gradcompat.renderers.terminal import safe


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One package: what is allowed of it, and why."""

    package: str
    specifier: str
    reasons: tuple[str, ...]


def write(head: Sequence[str], lines: Sequence[Line], out: TextIO, *, complete: bool = True) -> None:
    """Write the file; what comes from elsewhere cannot leave its comment.

    Args:
        head: sentences to begin with.
        lines: the constraints.
        out: where to.
        complete: everything that was asked for could be read, so that no line means that none is needed.
    """
    for sentence in head:
        out.write(f"# {safe(sentence)}\n")
    for line in lines:
        out.write("\n")
        for reason in line.reasons:
            out.write(f"# {safe(reason)}\n")
        out.write(f"{line.package}{line.specifier}\n")
    if complete and not lines:
        out.write("# nothing has to be constrained\n")
