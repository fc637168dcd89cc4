"""A table of verdicts as a picture: a column a release, a row a variant; signs stand in the cells, colours help.

It is read in light and in dark, and as well without colours: what is worse is darker, and every cell has its sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import TextIO

from gradcompat.model.matrix import Matrix

_CELL = 11
_ROW = 15
_TOP = 60
_LEGEND_ROW = 20
# Widths of text that nobody has measured: of a letter of the usual fonts at their size, rather too wide.
_LETTER, _BIG_LETTER = 5.6, 7.2
_FILLS = {"X": "#e8590c", ".": "#e3f2e6", "?": "#ced4da", "-": "#f1f3f5", " ": "none"}
# For letters that a recipe has of its own, in the order of its table.
_MORE_FILLS = ("#ffd43b", "#ffa94d", "#b197fc", "#74c0fc", "#f783ac", "#63e6be")
_STYLE = """\
text { fill: #212529; font: 10px system-ui, sans-serif }
.ground { fill: #ffffff }
.line { stroke: #868e96; stroke-width: 0.5 }
.grid { stroke: #ffffff; stroke-width: 1 }
.title { font-size: 13px; font-weight: 600 }
.sign { fill: #212529; font-size: 9px; text-anchor: middle }
.label { text-anchor: end }
.none { fill: none; stroke: #adb5bd }
@media (prefers-color-scheme: dark) {
  text { fill: #f1f3f5 }
  .sign { fill: #212529 }
  .ground { fill: #1a1b1e }
  .grid { stroke: #1a1b1e }
}
"""


def render(matrix: Matrix, out: TextIO) -> None:
    """Write one picture."""
    out.write("".join(_parts(matrix)))


def _parts(matrix: Matrix) -> Iterator[str]:
    left = round(max(map(len, matrix.labels), default=0) * _LETTER) + 16
    title = f"{matrix.package}: {matrix.summary}"
    made_with = f"{matrix.basis} {matrix.made_with}"
    wide = max(
        left + _CELL * len(matrix.releases) + 24,
        round(len(title) * _BIG_LETTER) + 16,
        round(len(made_with) * _LETTER) + 16,
    )
    fills = _fills(matrix)
    legend = _legend(matrix, wide)
    bottom = _TOP + _ROW * len(matrix.variants)
    high = bottom + 16 + _LEGEND_ROW * (len(legend) + 1)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        f'role="img">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n"
        f'<rect class="ground" width="{wide}" height="{high}"/>\n'
        f'<text class="title" x="8" y="18">{escape(title)}</text>\n'
    )
    yield from _rows(matrix, left, fills)
    yield from _columns(matrix, left, bottom)
    for line, entries in enumerate(legend):
        y = bottom + 14 + line * _LEGEND_ROW
        for x, sign, meaning in entries:
            look = 'class="none"' if sign == " " else f'fill="{fills[sign]}"'
            yield (
                f'<rect x="{x}" y="{y}" width="12" height="14" {look}/>'
                f'<text class="sign" x="{x + 6}" y="{y + 11}">{escape(sign.strip())}</text>'
                f'<text x="{x + 17}" y="{y + 11}">{escape(meaning)}</text>\n'
            )
    yield f'<text x="8" y="{high - 9}">{escape(made_with)}</text>\n</svg>\n'


def _fills(matrix: Matrix) -> dict[str, str]:
    own = [sign for sign in matrix.signs if sign not in _FILLS]
    return _FILLS | {sign: _MORE_FILLS[position % len(_MORE_FILLS)] for position, sign in enumerate(own)}


def _rows(matrix: Matrix, left: int, fills: dict[str, str]) -> Iterator[str]:
    """Neighbours with the same sign are one shape; what is not run is the ground."""
    for row, (variant, label) in enumerate(zip(matrix.variants, matrix.labels, strict=True)):
        y = _TOP + row * _ROW
        yield f'<text class="label" x="{left - 6}" y="{y + 11}">{escape(label)}</text>\n'
        column = 0
        signs = [(matrix.cell(variant, release).sign, release) for release in matrix.releases]
        for sign, group in groupby(signs, lambda one: one[0]):
            releases = [release for _, release in group]
            if sign != " ":
                x = left + column * _CELL
                span = releases[0] if len(releases) == 1 else f"{releases[0]} – {releases[-1]}"
                said = f"{span}, {label}: {matrix.cell(variant, releases[0]).text}"
                places = " ".join(str(x + 5 + _CELL * number) for number in range(len(releases)))
                yield (
                    f"<g><title>{escape(said)}</title>"
                    f'<rect x="{x}" y="{y}" width="{_CELL * len(releases)}" height="{_ROW - 1}" fill="{fills[sign]}"/>'
                    f'<text class="sign" x="{places}" y="{y + 10}">{escape(sign * len(releases))}</text></g>\n'
                )
            column += len(releases)


def _columns(matrix: Matrix, left: int, bottom: int) -> Iterator[str]:
    """A line between releases, and the series above their first one: 4.49, 5.0, …."""
    between = " ".join(f"M{left + column * _CELL - 0.5} {_TOP}V{bottom}" for column in range(len(matrix.releases) + 1))
    yield f'<path class="grid" d="{between}"/>\n'
    column = 0
    for series, group in groupby(matrix.releases, lambda release: ".".join(release.split(".")[:2])):
        x = left + column * _CELL
        yield (
            f'<path class="line" d="M{x - 0.5} {_TOP - 4}V{bottom}"/>'
            f'<text transform="translate({x + 9} {_TOP - 6}) rotate(-90)">{escape(series)}</text>\n'
        )
        column += len(list(group))


def _legend(matrix: Matrix, wide: int) -> list[list[tuple[int, str, str]]]:
    """Where each sign and its meaning stand, line by line."""
    lines: list[list[tuple[int, str, str]]] = [[]]
    x = 8
    for sign, meaning in matrix.signs.items():
        needed = 30 + round(len(meaning) * _LETTER)
        if lines[-1] and x + needed > wide:
            lines.append([])
            x = 8
        lines[-1].append((x, sign, meaning))
        x += needed
    return lines
