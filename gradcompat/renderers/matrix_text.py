"""A table of verdicts for a terminal: releases with the same verdicts share a line; signs carry what colours say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TextIO

from gradcompat.model.matrix import Matrix
from gradcompat.model.probe import ProbeSpec
from gradcompat.renderers.terminal import width, wrapped

_COLOURS = {"X": "31", ".": "32", "-": "2"}
_PARTLY = "33"  # letters that a recipe has of its own, and what is inconclusive
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def render(matrix: Matrix, out: TextIO) -> None:
    """Write one table; one with more variants than a line or the alphabet has room for comes in parts."""
    columns = width()
    out.write(wrapped(f"{matrix.package}: {matrix.summary}", columns, "", "") + "\n")
    out.write(wrapped(f"{matrix.basis} {matrix.made_with}", columns, "", "") + "\n")
    longest = max(map(len, matrix.releases), default=0)
    room = max(1, min((columns - 2 * longest - 7) // 2, len(_LETTERS)))
    for start in range(0, len(matrix.variants), room):
        _part(matrix, matrix.variants[start : start + room], matrix.labels[start : start + room], out)
    meanings = "; ".join(f"{sign.strip() or 'blank'} {meaning}" for sign, meaning in matrix.signs.items())
    out.write("\n" + wrapped(meanings, columns, "  ", "  ") + "\n")


def _part(matrix: Matrix, variants: Sequence[ProbeSpec], labels: Sequence[str], out: TextIO) -> None:
    lines = [
        (release, tuple(matrix.cell(variant, release).sign for variant in variants)) for release in matrix.releases
    ]
    spans = [(_span([release for release, _ in group]), signs) for signs, group in groupby(lines, lambda one: one[1])]
    label = max((len(span) for span, _ in spans), default=0)
    colour = out.isatty()
    letters = _LETTERS[: len(variants)]
    out.write(f"\n  {'':<{label}}  {' '.join(letters)}\n")
    for span, signs in spans:
        out.write(f"  {span:<{label}}  {' '.join(_painted(sign, colour) for sign in signs)}".rstrip() + "\n")
    out.write("\n")
    for letter, name in zip(letters, labels, strict=True):
        out.write(f"  {letter}  {name}\n")


def _span(releases: list[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} – {releases[-1]}"


def _painted(sign: str, colour: bool) -> str:
    return f"\x1b[{_COLOURS.get(sign, _PARTLY)}m{sign}\x1b[0m" if colour and sign != " " else sign
