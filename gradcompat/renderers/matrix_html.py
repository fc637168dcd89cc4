"""A table of verdicts as a page of its own, without network: the picture, and under it every cell in words."""

from __future__ import annotations

import io
from html import escape
from typing import TextIO

from gradcompat.model.matrix import Matrix
from gradcompat.renderers import matrix_svg

_STYLE = """\
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { margin: 1rem; }
h1 { font-size: 1.2rem; }
.picture { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8rem; }
th, td { border: 1px solid #8884; padding: 0.2rem 0.4rem; text-align: left; vertical-align: top; }
"""


def render(matrix: Matrix, out: TextIO) -> None:
    """Write one page."""
    picture = io.StringIO()
    matrix_svg.render(matrix, picture)
    title = f"{matrix.package}: {matrix.summary}"
    out.write(
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n<h1>{escape(title)}</h1>\n"
        f"<p>{escape(matrix.basis.capitalize())} {escape(matrix.made_with)}.</p>\n"
        f'<div class="picture">\n{picture.getvalue()}</div>\n'
    )
    for variant, label in zip(matrix.variants, matrix.labels, strict=True):
        out.write(f"<details><summary>{escape(label)}</summary>\n<table>\n<tr><th>release<th>verdict<th>why\n")
        for release in matrix.releases:
            cell = matrix.cell(variant, release)
            unmeasured = matrix.signs.get(cell.sign, "not run")
            outcome = unmeasured if cell.outcome is None else cell.outcome.replace("_", " ")
            out.write(f"<tr><td>{escape(release)}<td>{outcome}<td>{escape(cell.text)}\n")
        out.write("</table></details>\n")
    out.write("</html>\n")
