"""Plans as Markdown, for an issue or a pull request. What comes from files cannot become markup."""

from __future__ import annotations

from typing import TextIO

from gradcompat.messages import change_text, setting_text
from gradcompat.model.plan import Alternative, Plan, Planned, PlanReport
from gradcompat.renderers.markdown import escaped, linked
from gradcompat.renderers.plan_text import assumed_lines, cures_first, nothing_text, summary


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


def _plan(planned: Planned, plan: Plan, out: TextIO) -> None:
    rows = [(change_text(change), change.cures, "; ".join(change.because)) for change in cures_first(plan.changes)]
    rows += [(setting_text(setting), setting.cures, setting.note or "") for setting in plan.settings]
    rows += [(code.text, code.cures, "a code change, not tested") for code in plan.code]
    if rows:
        out.write("| Change | Cures | Because |\n|---|---|---|\n")
        for text, cures, because in rows:
            linked = ", ".join(_linked(identifier, planned) for identifier in cures)
            out.write(f"| {escaped(text)} | {linked} | {escaped(because)} |\n")
        out.write("\n")
    for line in assumed_lines(planned):
        out.write(f"Taking it that {escaped(line)}\n\n")
    if plan.core:
        out.write("Nothing clears everything, because:\n\n")
        out.write("".join(f"- {escaped(sentence)}\n" for sentence in plan.core) + "\n")
    for label, ids in (("Leaves", plan.remaining), ("Brings", plan.introduced)):
        if ids:
            out.write(f"{label}: {', '.join(_linked(identifier, planned) for identifier in ids)}\n\n")
    if planned.possible:
        out.write(f"Could apply, and not planned for: {escaped(', '.join(planned.possible))}\n\n")
    if plan.verified.unverified:
        out.write("Not verified:\n\n")
        out.write("".join(f"- {escaped(sentence)}\n" for sentence in plan.verified.unverified) + "\n")
    if plan.verified.notes:
        out.write("".join(f"- {escaped(sentence)}\n" for sentence in plan.verified.notes) + "\n")
    if plan.alternatives:
        out.write("<details><summary>Other ways</summary>\n\n")
        out.write("".join(f"- {_alternative(alternative)}\n" for alternative in plan.alternatives))
        out.write("\n</details>\n\n")


def _alternative(alternative: Alternative) -> str:
    text = escaped(summary(alternative)) + (f" ({escaped(alternative.cost)})" if alternative.cost else "")
    return text + "".join(f"; blocked: {escaped(sentence)}" for sentence in alternative.blocked)


def _linked(identifier: str, planned: Planned) -> str:
    summary_text = escaped(planned.summaries.get(identifier, ""))
    return f"{linked(identifier, planned.references.get(identifier))} {summary_text}".rstrip()
