"""Plans as Markdown, for an issue or a pull request. What comes from files cannot become markup."""

from __future__ import annotations

from typing import TextIO

from gradcompat.audit.report_parts import Parts, condition_text, parts_of, places_text, ranges
from gradcompat.messages import change_text, setting_text
from gradcompat.model.plan import Alternative, Change, CodeChange, Plan, SettingChange
from gradcompat.model.plan_report import Planned, PlanReport
from gradcompat.model.report import ReportedFinding
from gradcompat.renderers.markdown import escaped, linked, write_folded
from gradcompat.renderers.parts_text import dormant_text, minor_text, more_text, question_lines
from gradcompat.renderers.plan_text import assumed_lines, left_by, nothing_text, ordered_changes, summary
from gradcompat.renderers.range_lines import range_lines


def render(report: PlanReport, out: TextIO) -> None:
    """Write all plans."""
    for planned in report.planned:
        out.write(f"## {escaped(planned.source)}\n\n")
        if planned.plan is None:
            said = nothing_text(planned, report.level)
            reason = "Could not be read" if planned.kind is None else f"{said[:1].upper()}{said[1:]}"
            out.write(f"{escaped(reason)}.\n\n")
        else:
            _plan(planned, planned.plan, out)
        for skipped in planned.skipped:
            place = skipped.location if skipped.location is not None else skipped.what
            out.write(f"- not read: {escaped(f'{place}: {skipped.what}: {skipped.reason}')}\n")
        out.write("\n" if planned.skipped else "")
    _parts(parts_of(report.open), out)
    if lines := range_lines([(planned.source, ranges(planned.open, planned.ranges)) for planned in report.planned]):
        write_folded(f"Judged by the newest release of a range: {len(lines)}", map(escaped, lines), out)


def _parts(parts: Parts, out: TextIO) -> None:
    """What is worth knowing, could apply, would decide more and is dormant, of all environments."""
    sure = [f"{_named(one)}: {escaped(places_text(one.finding))}" for one in parts.informational]
    possible = []
    for one in parts.possible:
        text = f"if {condition_text(one.finding)}; {places_text(one.finding)}{more_text(parts, one)}"
        possible.append(f"{_named(one)}: {escaped(text)}")
    for title, lines in (
        ("Worth knowing:", sure),
        ("Could apply:", possible),
        ("To know more, add what you know with `--set KEY=VALUE`:", list(map(escaped, question_lines(parts)))),
    ):
        if lines:
            out.write(f"{title}\n\n" + "".join(f"- {line}\n" for line in lines) + "\n")
    if text := minor_text(parts):
        out.write(f"{escaped(text)}; `gradcompat check --all` says when\n\n")
    if text := dormant_text(parts):
        out.write(f"{escaped(text)}\n\n")


def _named(reported: ReportedFinding) -> str:
    issue = reported.finding.issue
    url = issue.references[0].url if issue.references else None
    return f"{linked(issue.id, url)} {escaped(issue.summary)}"


def _plan(planned: Planned, plan: Plan, out: TextIO) -> None:
    rows = [_row(change) for change in ordered_changes(planned, plan)]
    if rows:
        out.write("| Change | Cures | Because |\n|---|---|---|\n")
        for text, cures, because in rows:
            linked = ", ".join(_linked(identifier, planned) for identifier in cures)
            out.write(f"| {escaped(text)} | {linked} | {escaped(because)} |\n")
        out.write("\n")
    for line in assumed_lines(planned):
        out.write(f"Taking it that {escaped(line)}\n\n")
    if plan.core:
        said = "Nothing clears everything" if left_by(plan) else "This is not sure to clear everything"
        out.write(f"{said}, because:\n\n")
        out.write("".join(f"- {escaped(sentence)}\n" for sentence in plan.core) + "\n")
    for label, ids in (("Leaves", left_by(plan)), ("Brings", plan.introduced)):
        if ids:
            out.write(f"{label}: {', '.join(_linked(identifier, planned) for identifier in ids)}\n\n")
    if plan.verified.unverified:
        out.write("Not verified:\n\n")
        out.write("".join(f"- {escaped(sentence)}\n" for sentence in plan.verified.unverified) + "\n")
    if plan.verified.notes:
        out.write("".join(f"- {escaped(sentence)}\n" for sentence in plan.verified.notes) + "\n")
    if plan.alternatives:
        out.write("<details><summary>Other ways</summary>\n\n")
        out.write("".join(f"- {_alternative(alternative)}\n" for alternative in plan.alternatives))
        out.write("\n</details>\n\n")


def _row(change: Change | SettingChange | CodeChange) -> tuple[str, tuple[str, ...], str]:
    match change:
        case Change():
            return change_text(change), change.cures, "; ".join(change.because)
        case SettingChange():
            return setting_text(change), change.cures, change.note or ""
        case CodeChange():
            return change.text, change.cures, "a code change, not tested"


def _alternative(alternative: Alternative) -> str:
    text = escaped(summary(alternative)) + (f" ({escaped(alternative.cost)})" if alternative.cost else "")
    return text + "".join(f"; blocked: {escaped(sentence)}" for sentence in alternative.blocked)


def _linked(identifier: str, planned: Planned) -> str:
    summary_text = escaped(planned.summaries.get(identifier, ""))
    return f"{linked(identifier, planned.references.get(identifier))} {summary_text}".rstrip()
