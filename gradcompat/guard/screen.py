"""What the guard prints: one line at the start, one screen for a defect, one line at the end."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from gradcompat.guard.findings import STOPPED, Finding, Outcome, Unverified
from gradcompat.guard.judgement import Judgement
from gradcompat.guard.matched_records import Record
from gradcompat.guard.measurement import Checkpoint

_WIDTH = 96


def say(text: str) -> None:
    """Print on standard error; a run whose error stream is closed goes on."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return


def start_line(steps: int, framework: str, records: Sequence[Record] | None, total: int, problem: str) -> str:
    """What will be looked at, and which records apply."""
    looks = f"gradcompat guard: looks at the first {steps} optimizer step{'s' if steps > 1 else ''} ({framework})"
    if records is None or (problem and not total):
        return f"{looks}; records are not matched: {problem or 'no answer'}"
    ids = ", ".join(one.id for one in records) or "none"
    return f"{looks}; of {total} records apply here: {ids}"


def explaining(finding: Finding, records: Sequence[Record]) -> list[Record]:
    """The records that apply and speak of what was measured, the closest first."""
    wanted = {category: place for place, category in enumerate(finding.categories)}

    def distance(record: Record) -> tuple[int, int, bool]:
        of_another = sum(one not in wanted for one in record.categories)
        return min(wanted[one] for one in record.categories if one in wanted), of_another, record.level != "error"

    return sorted((record for record in records if wanted.keys() & set(record.categories)), key=distance)


def screen(
    findings: Sequence[Finding], records: Sequence[Record], change: str, *, stopping: bool, warn_hint: str
) -> str:
    """The screen of a defect.

    Args:
        findings: new ones, the worst first.
        records: all that apply here.
        change: what ``gradcompat plan`` changes; empty if nothing is known.
        stopping: the run ends here, before the update.
        warn_hint: how to go on anyway.
    """
    lines = []
    for finding in findings:
        lines += _wrapped(f"gradcompat guard: {finding.level}: ", finding.text)
        matching = explaining(finding, records)
        for record in matching[:3]:
            lines += _wrapped("  record    ", f"{record.id}: {record.summary}")
        if not matching and finding.level == "error":
            lines += _wrapped(
                "  record    ", "none explains it; `gradcompat knowledge new --from gradcompat-guard.json` makes one"
            )
    if change:
        lines += _wrapped("  change    ", change)
    if stopping:
        lines += _wrapped("  stopped   ", f"before the update, with exit status {STOPPED}; nothing was changed")
        lines += _wrapped("  go on     ", warn_hint)
    return "\n".join(lines)


def end_line(steps: int, judgement: Judgement) -> str:
    """What was verified, what was noted and what was not verified."""
    verified = ", ".join(judgement.clean) or "nothing"
    line = f"gradcompat guard: {steps} step{'s' if steps != 1 else ''} verified: {verified}"
    notes = [one.text for one in judgement.findings if one.level == "note"]
    if notes:
        line += "; noted: " + "; ".join(notes)
    if judgement.unverified:
        line += "; not verified: " + ", ".join(f"{what} ({why})" for what, why in judgement.unverified.items())
    return line


def checkpoint_line(checkpoint: Checkpoint, outcomes: Sequence[Outcome]) -> str:
    """What became of a checkpoint that has no defect."""
    for outcome in outcomes:
        if isinstance(outcome, Unverified):
            return f"gradcompat guard: the first checkpoint is not verified: {outcome.why}"
        if isinstance(outcome, Finding):
            return f"gradcompat guard: {outcome.text}"
    count = checkpoint.equal
    return f"gradcompat guard: the first checkpoint is read back: {count} parameters are equal bit for bit"


def _wrapped(label: str, text: str) -> list[str]:
    indent = " " * (len(label) if len(label) < 20 else 2)
    return textwrap.wrap(label + text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
