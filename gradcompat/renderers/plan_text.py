"""Plans for people: what to change, what that cures, what else would help, what was verified and what was not."""

from __future__ import annotations

import shlex
from typing import TextIO

from gradcompat.audit.report_parts import ids_in_order, parts_of, ranges
from gradcompat.messages import assumptions_text, change_text, counted, moves_text, setting_text
from gradcompat.model.plan import Alternative, Change, CodeChange, Plan, SettingChange
from gradcompat.model.plan_report import Planned, PlanReport
from gradcompat.renderers.parts_text import write_parts
from gradcompat.renderers.range_lines import write_ranges
from gradcompat.renderers.terminal import safe, skipped_text, width, wrapped

_LABEL = 10


def render(report: PlanReport, out: TextIO) -> None:
    """Write all plans."""
    columns = width()
    for planned in report.planned:
        _planned(planned, report, columns, out)
    write_open(report, columns, out)


def write_open(report: PlanReport, columns: int, out: TextIO) -> None:
    """Write what no plan cures, as a check does."""
    write_parts(parts_of(report.open), columns, out)
    judged = [(planned.source, ranges(planned.open, planned.ranges)) for planned in report.planned]
    if write_ranges(judged, columns, out):
        out.write("\n")


def _planned(planned: Planned, report: PlanReport, columns: int, out: TextIO) -> None:
    if planned.kind is not None:
        out.write(safe(f"{planned.source}: {_head(planned, report)}") + "\n\n")
    if planned.plan is not None:
        _plan(planned, planned.plan, columns, out)
    for skipped in planned.skipped:
        out.write(wrapped(skipped_text(skipped), columns, "  ", "    ") + "\n")
    if planned.skipped:
        out.write("\n")


def _head(planned: Planned, report: PlanReport) -> str:
    plan = planned.plan
    if plan is None:
        return nothing_text(planned, report.level)
    changes = summary(plan)
    if plan.complete:
        return changes
    rest = left_by(plan)
    if not rest:
        return f"{changes}; the change of code cannot be tested here"
    left = f"; {changes} leaves {counted(len(rest), 'finding')}" if changes else ""
    return f"no known change clears everything{left}"


def left_by(plan: Plan) -> tuple[str, ...]:
    """What stays at or above the level if the changes of code, which nobody can test here, do what they are for."""
    by_code = {identifier for change in plan.code for identifier in change.cures}
    return tuple(identifier for identifier in plan.remaining if identifier not in by_code)


def nothing_text(planned: Planned, level: str) -> str:
    """Why there is no plan: nothing has to change, or nothing is sure to."""
    seen = " of what could be read" if planned.skipped else ""
    if planned.possible:
        return (
            f"no known defect{seen} at level {level} or above is sure to apply, {len(planned.possible)} could apply; "
            "--strict plans for those, too"
        )
    return f"nothing{seen} at level {level} or above has to change"


def assumed_lines(planned: Planned) -> list[str]:
    """What the plan takes to hold, with the ids of what rests on it: ``the run uses no FSDP: GC-0001, GC-0002``."""
    resting: dict[str, list[str]] = {}
    for identifier, assumed in planned.assumed.items():
        resting.setdefault(assumptions_text(assumed), []).append(identifier)
    return [f"{text}: {', '.join(ids)}" for text, ids in resting.items()]


def summary(plan: Plan | Alternative) -> str:
    """What changes, in one clause: the first line of the plan. Much that only goes with the cure is counted."""
    moves = moves_text(plan.changes)
    others = [*(setting_text(setting) for setting in plan.settings), *(code_change.text for code_change in plan.code)]
    much = bool(moves) and moves[-1].startswith("and ")
    return ", ".join([*moves[:-1], *others, moves[-1]] if much else [*moves, *others])


def ordered_changes(planned: Planned, plan: Plan) -> list[Change | SettingChange | CodeChange]:
    """What changes, in the order in which a report names what it cures; what only goes with it stands last."""
    places = {identifier: place for place, identifier in enumerate(ids_in_order(planned.findings))}
    last = len(places)
    changes: list[Change | SettingChange | CodeChange] = [*plan.changes, *plan.settings, *plan.code]
    return sorted(changes, key=lambda change: min((places.get(one, last) for one in change.cures), default=last + 1))


def _plan(planned: Planned, plan: Plan, columns: int, out: TextIO) -> None:
    for change in ordered_changes(planned, plan):
        match change:
            case Change():
                _change(change, planned, columns, out)
            case SettingChange():
                _setting(change, planned, columns, out)
            case CodeChange():
                _code(change, planned, columns, out)
    for line in assumed_lines(planned):
        out.write(_line("taking it", f"that {line}", columns))
    if planned.assumed:
        out.write("\n")
    if plan.core:
        why = "nothing clears everything" if left_by(plan) else "this is not sure to clear everything"
        out.write(f"  Why {why}:\n")
        for sentence in plan.core:
            out.write(wrapped(sentence, columns, "    - ", "      ") + "\n")
        out.write("\n")
    for label, ids in (("leaves", left_by(plan)), ("brings", plan.introduced)):
        for identifier in ids:
            text = f"{identifier} {planned.summaries.get(identifier, '')}".rstrip()
            out.write(_line(label, text, columns))
    if plan.tolerated:
        out.write(_line("below", f"the level, and accepted: {', '.join(plan.tolerated)}", columns))
    out.write(_line("cost", plan.cost, columns) if plan.cost else "")
    _verified(plan, columns, out)
    if planned.command:
        out.write(_line("lock", shlex.join(planned.command), columns))
    out.write("\n")
    if plan.alternatives:
        out.write("  Other ways:\n")
        for alternative in plan.alternatives:
            _alternative(alternative, columns, out)
        out.write("\n")


def _change(change: Change, planned: Planned, columns: int, out: TextIO) -> None:
    where = ", ".join(str(location) for location in change.locations[:3])
    asked = f"; asked for in {planned.asked_in}" if change.direct and planned.asked_in is not None else ""
    out.write(wrapped(change_text(change), columns, "  ", "    ") + "\n")
    if where or asked:
        out.write(_line("at", f"{where}{asked}".removeprefix("; "), columns))
    _cures(change.cures, planned, columns, out)
    for reason in change.because:
        out.write(_line("because", reason, columns))
    out.write("\n")


def _setting(setting: SettingChange, planned: Planned, columns: int, out: TextIO) -> None:
    out.write(wrapped(setting_text(setting), columns, "  ", "    ") + "\n")
    if setting.location is not None and setting.line is not None:
        out.write(_line("write", f"`{setting.line}` in {setting.location}", columns))
    elif setting.location is not None:
        out.write(_line("at", str(setting.location), columns))
    _cures(setting.cures, planned, columns, out)
    if setting.note is not None:
        out.write(_line("note", setting.note, columns))
    out.write("\n")


def _code(code: CodeChange, planned: Planned, columns: int, out: TextIO) -> None:
    out.write(wrapped(code.text, columns, "  ", "    ") + "\n")
    _cures(code.cures, planned, columns, out)
    out.write(_line("note", "a change of code, which cannot be tested here", columns) + "\n")


def _cures(ids: tuple[str, ...], planned: Planned, columns: int, out: TextIO) -> None:
    for identifier in ids:
        out.write(_line("cures", f"{identifier} {planned.summaries.get(identifier, '')}".rstrip(), columns))


def _verified(plan: Plan, columns: int, out: TextIO) -> None:
    verified = plan.verified
    parts = ["matched again with the plan applied"] if verified.matched_again else []
    if verified.requirements:
        parts.append(f"every requirement that it touches holds ({verified.against})")
    if verified.wheels:
        parts.append(f"wheels for {verified.target}")
    if verified.smallest and plan.complete:
        parts.append("no smaller change does")
    out.write(_line("verified", "; ".join(parts), columns) if parts else "")
    for sentence in verified.unverified:
        out.write(_line("unverified", sentence, columns))
    for sentence in verified.notes:
        out.write(_line("note", sentence, columns))


def _alternative(alternative: Alternative, columns: int, out: TextIO) -> None:
    text = summary(alternative)
    if alternative.cost:
        text += f" ({alternative.cost})"
    if alternative.remaining:
        text += f"; leaves {', '.join(alternative.remaining)}"
    out.write(wrapped(text, columns, "    - ", "      ") + "\n")
    for sentence in alternative.blocked:
        out.write(wrapped(f"blocked: {sentence}", columns, "      ", "        ") + "\n")


def _line(label: str, text: str, columns: int) -> str:
    return wrapped(text, columns, f"    {label:<{_LABEL}} ", f"    {'':<{_LABEL}} ") + "\n"
