"""Candidates for records, for a terminal: a paragraph each, the heaviest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from gradcompat.curation.watch.candidate import RULES, Candidate
from gradcompat.messages import counted
from gradcompat.renderers.terminal import safe, width, wrapped

# Lines of what is gone, and of what has come; those of the heaviest rule stand first.
_SHOWN = 4


def render(candidates: Iterable[Candidate], verdicts: dict[str, str], out: TextIO) -> None:
    """Write candidates.

    Args:
        candidates: in their order.
        verdicts: id → what was judged.
        out: where they are written.
    """
    for candidate in candidates:
        verdict = f", judged: {verdicts[candidate.id]}" if candidate.id in verdicts else ""
        releases = f"{candidate.package} {candidate.before} → {candidate.after}"
        head = f"{candidate.id}  {candidate.weight:>3}  {releases}: {RULES[candidate.rule].meaning}{verdict}"
        _line(head, "", out)
        place = candidate.place if candidate.line is None else f"{candidate.place} (line {candidate.line})"
        more = f", and {counted(candidate.elsewhere, 'more place')}" if candidate.elsewhere else ""
        _line(place + more, "    ", out)
        for sign, texts in (("-", candidate.removed), ("+", candidate.added)):
            for text in texts[:_SHOWN]:
                _line(text, f"    {sign} ", out)
            if len(texts) > _SHOWN:
                _line(f"… and {len(texts) - _SHOWN} more, in JSON", f"    {sign} ", out)
        for link in candidate.links:
            _line(link, "    ", out)
        out.write("\n")


def _line(text: str, margin: str, out: TextIO) -> None:
    out.write(wrapped(safe(text), width(), margin, " " * len(margin) + "  ") + "\n")
