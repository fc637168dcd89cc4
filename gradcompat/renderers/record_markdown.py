"""A record as a page of Markdown: what ``explain`` shows, with pictures or tables of what was measured."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TextIO

from gradcompat.model.issue import Issue, Reference
from gradcompat.model.matrix import Matrix
from gradcompat.renderers import matrix_text
from gradcompat.renderers.record import REFERENCES, kind, known, parts
from gradcompat.renderers.results import plain
from gradcompat.startup.lazy_patterns import lazy_pattern

# Signs that begin markup somewhere in a line; of HTML as well, which Markdown lets through.
_SIGNS = str.maketrans(
    {sign: f"\\{sign}" for sign in "\\*_[]"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;"}
)
_START = lazy_pattern(r"^(?:[-+#=~:]|\d+[.)](?= ))")
_CODE = lazy_pattern(r"(`[^`]+`)")


def render(
    issue: Issue, matrices: Sequence[Matrix], out: TextIO, *, pictures: Mapping[tuple[str, str], str] | None = None
) -> None:
    """Write the page.

    Args:
        issue: the record.
        matrices: what its probes measured.
        out: where to.
        pictures: addresses of pictures of the matrices, by package and recipe; without one, a matrix is a table of
            signs alone.
    """
    out.write(f"# {issue.id}\n\n**{prose(issue.summary)}**\n\n{prose(kind(issue))}\n\n")
    if issue.withdrawn is not None:
        out.write(f"**Withdrawn**: {prose(issue.withdrawn)}. Nothing counts this record.\n\n")
    out.write(f"{prose(issue.details)}\n\n")
    for part in parts(issue):
        if part.title.startswith("Evidence"):
            _measured(issue, matrices, pictures or {}, out)
            out.write(f"## Evidence\n\nRanges: {prose(known(issue))}.\n\n")
            _listed(list(map(prose, part.lines)), "*", out)
        elif part.title == REFERENCES:
            out.write(f"## {REFERENCES}\n\n")
            _listed(list(map(_reference, issue.references)), "*", out)
        else:
            out.write(f"## {part.title}\n\n")
            shown = _code if part.title == "Shows as" else prose
            _listed(list(map(shown, part.lines)), "1." if part.title.endswith("in order") else "*", out)
    if not issue.evidence:
        _measured(issue, matrices, pictures or {}, out)


def _listed(lines: Sequence[str], sign: str, out: TextIO) -> None:
    out.write("".join(f"{sign} {line}\n" for line in lines) + "\n")


def _measured(issue: Issue, matrices: Sequence[Matrix], pictures: Mapping[tuple[str, str], str], out: TextIO) -> None:
    if not issue.probes:
        return
    title = "Measured" if matrices else "Not measured yet"
    out.write(f"## {title}\n\n")
    for matrix in matrices:
        picture = pictures.get((matrix.package, matrix.recipe))
        if picture is not None:
            out.write(f"[![Verdicts in releases of {prose(matrix.package)}]({picture})]({picture})\n\n")
        table = io.StringIO()
        matrix_text.render(matrix, table)
        out.write(f"```text\n{table.getvalue()}```\n\n")
    out.write(f"Measure it in your own environment:\n\n```sh\ngradcompat probe {issue.id}\n```\n\n")


def _reference(reference: Reference) -> str:
    return f"{reference.type.lower()}: <{reference.url}>"


def _code(text: str) -> str:
    """Text as it stands, between as many backticks as it needs."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{plain(text)}{space}{ticks}"


def prose(text: str) -> str:
    r"""A sentence in which only backticks mark up.

    >>> prose("`**kwargs` in <b> and * alone")
    '`**kwargs` in &lt;b&gt; and \\* alone'
    """
    pieces = _CODE.split(plain(text.strip()))
    shown = "".join(
        piece if number % 2 else piece.translate(_SIGNS).replace("`", "\\`") for number, piece in enumerate(pieces)
    )
    return _START.sub(r"\\\g<0>", shown)
