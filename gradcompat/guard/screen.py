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


def stop_words(steps: int, *, updating: bool) -> str:
    """Where the run ends.

    Args:
        steps: that were measured, the one at hand included.
        updating: the update of the last of them is not made.
    """
    made = steps - updating
    if not made:
        return f"before the update, with exit status {STOPPED}; nothing was changed"
    if updating:
        return f"before the update of step {steps}, with exit status {STOPPED}"
    return f"behind the update of step {steps}, with exit status {STOPPED}"


def screen(findings: Sequence[Finding], records: Sequence[Record], change: str, *, stopped: str, warn_hint: str) -> str:
    """The screen of a defect.

    Args:
        findings: new ones, the worst first.
        records: all that apply here.
        change: what ``gradcompat plan`` changes; empty if nothing is known.
        stopped: where the run ends; empty if it goes on.
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
    if stopped:
        lines += _wrapped("  stopped   ", stopped)
        lines += _wrapped("  go on     ", warn_hint)
    return "\n".join(lines)


def end_line(steps: int, judgement: Judgement) -> str:
    """What was verified, what was noted and what was not verified."""
    whole = [what for what in judgement.clean if what not in judgement.unverified]
    verified = ", ".join(whole) or "nothing"
    line = f"gradcompat guard: {steps} step{'s' if steps != 1 else ''} verified: {verified}"
    notes = [one.text for one in judgement.findings if one.level == "note"]
    if notes:
        line += "; noted: " + "; ".join(notes)
    # Of what has a finding above a note, that is said, and not what kept other steps from being judged.
    wrong = {one.detector for one in judgement.findings if one.level != "note"}
    open_ = [(what, why) for what, why in judgement.unverified.items() if what not in wrong]
    for label, some in (
        ("not verified in every step", [one for one in open_ if one[0] in judgement.verified]),
        ("not verified", [one for one in open_ if one[0] not in judgement.verified]),
    ):
        if some:
            line += f"; {label}: " + ", ".join(f"{what} ({why})" for what, why in some)
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
