"""Packages of which only a range is known, and what the newest release of each would bring, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO, TypeAlias

from gradcompat.messages import ONLY_RANGE
from gradcompat.model.environment import Skipped
from gradcompat.renderers.parts_text import ids_text
from gradcompat.renderers.terminal import safe, wrapped

# An environment as the user calls it, and each of its ranges with the ids of what the newest release would bring.
Judged: TypeAlias = tuple[str, Sequence[tuple[Skipped, tuple[str, ...]]]]

_RANGES = 5  # packages with a range that are told in a line each
_IDS = 2  # records that a range could bring, and are named


def write_ranges(judged: Sequence[Judged], columns: int, out: TextIO) -> bool:
    """Write them; True if there are any."""
    lines = range_lines(judged)
    for line in lines:
        out.write(wrapped(line, columns, "  range: ", "    ") + "\n")
    return bool(lines)


def range_lines(environments: Sequence[Judged]) -> list[str]:
    """A line for each range whose newest release brings something, and one for the others.

    A range that stands in several environments is told once: a Dockerfile installs the requirements beside it.
    """
    found: dict[tuple[str, str | None, str], tuple[list[str], dict[str, None]]] = {}
    for source, judged in environments:
        for skipped, brought in judged:
            subjects, together = found.setdefault((skipped.what, skipped.newest, skipped.reason), ([], {}))
            subjects.append(subject_text(skipped, source if len(environments) == 1 else ""))
            together.update(dict.fromkeys(brought))
    ordered = sorted(found.items(), key=lambda item: not item[1][1])
    shown = ([one for one in ordered if one[1][1]] or ordered[:1])[:_RANGES]
    lines = []
    for (_, newest, reason), (subjects, ids) in shown:
        places = list(dict.fromkeys(subjects))
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        if newest is None:
            why = "which release that is cannot be said" if ids and reason == ONLY_RANGE else reason
            said = f"{why}; {ids_text(tuple(ids), _IDS)} could apply" if ids else why
        else:
            said = (
                f"{newest} could bring {ids_text(tuple(ids), _IDS)}"
                if ids
                else f"{newest} is the newest that is allowed"
            )
        lines.append(f"{places[0]}{more}: {said}")
    rest = {what: newest for (what, newest, _), _ in ordered[len(shown) :]}
    if known := [what for what, newest in rest.items() if newest is not None]:
        lines.append(f"judged by their newest releases too: {first_names(known, _RANGES)}")
    if unknown := [what for what, newest in rest.items() if newest is None]:
        lines.append(f"which release these are cannot be said: {first_names(unknown, _RANGES)}")
    return lines


def subject_text(skipped: Skipped, source: str) -> str:
    """The package with its line; with its file, if that is not the source."""
    place = skipped.location
    if place is None or place.line is None:
        return skipped.what
    return f"{skipped.what} (line {place.line})" if place.path == source else f"{skipped.what} ({place})"


def first_names(names: Sequence[str], most: int = 8) -> str:
    """The first of them, and how many others there are."""
    shown = ", ".join(safe(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
