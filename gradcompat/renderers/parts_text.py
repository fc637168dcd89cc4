"""The parts of a report that are no error, as text: what is worth knowing, could apply, would decide more, is dormant.

A check, a plan and a fix tell them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from gradcompat.audit.report_parts import Parts, Question, condition_text, first_place, places_text
from gradcompat.messages import assumptions_text, counted
from gradcompat.model.finding import Finding
from gradcompat.model.issue import is_break
from gradcompat.model.report import ReportedFinding
from gradcompat.renderers.affected_text import advice_text, cut_lines, places_of, probed_texts
from gradcompat.renderers.terminal import wrapped

_QUESTIONS = 4  # facts that are asked for
_FEATURES = 6  # features of dormant records that are named
_IDS = 3  # records of many that are named


def write_parts(parts: Parts, columns: int, out: TextIO) -> None:
    """Write all of them, in their order, for a command that lists no records."""
    write_informational(parts.informational, columns, out)
    write_possible(parts, columns, out, listed_by="gradcompat check --all")
    write_dormant(parts, columns, out, listed_by="gradcompat check --all")


def write_informational(findings: Sequence[ReportedFinding], columns: int, out: TextIO, *, whole: bool = False) -> bool:
    """Behaviour that surprises and is no defect: a line for each record.

    Args:
        findings: those that are told.
        columns: of the terminal.
        out: where it is written.
        whole: say where it is, and what is presumed.

    Returns:
        Something was cut.
    """
    records: dict[str, list[ReportedFinding]] = {}
    for advised in findings:
        records.setdefault(advised.finding.issue.id, []).append(advised)
    if records:
        out.write("Worth knowing:\n")
    for advised, *others in records.values():
        issue = advised.finding.issue
        text = issue.summary
        if whole:
            places = dict.fromkeys(places_of(one.finding)[0] for one in (advised, *others))
            more = f" and {counted(len(places) - 1, 'other place')}" if len(places) > 1 else ""
            taking = f"; taking it that {assumed_text(advised.finding)}" if advised.finding.assumed else ""
            text += f" ({next(iter(places))}{more}){taking}"
        lines = wrapped(text, columns, f"  {issue.id}: ", "    ").split("\n")
        out.write("".join(f"{line}\n" for line in (lines if whole else cut_lines(lines, 1, columns))))
    if records:
        out.write("\n")
    return bool(records) and not whole


def write_possible(parts: Parts, columns: int, out: TextIO, *, whole: bool = False, listed_by: str = "--all") -> bool:
    """What one fact decides, in a line of what and two of when, and what would decide the others in a line each.

    What is left is one line.

    Args:
        parts: what is told.
        columns: of the terminal.
        out: where it is written.
        whole: cut nothing.
        listed_by: the option or command that tells all of it.

    Returns:
        Something was cut.
    """
    is_cut = False

    def write(text: str, first: str, most: int) -> None:
        nonlocal is_cut
        lines = wrapped(text, columns, first, "    ").split("\n")
        shown = lines if whole else cut_lines(lines, most, columns)
        is_cut |= shown != lines
        out.write("".join(f"{line}\n" for line in shown))

    if parts.possible:
        out.write("Could apply:\n")
    for advised in parts.possible:
        finding, issue = advised.finding, advised.finding.issue
        # The identity of what is missing in a release says the same as its summary.
        write(issue.summary, "  code: " if is_break(issue.id) else f"  {issue.id}: ", 1)
        taking = f", taking it that {assumed_text(finding)}" if finding.assumed else ""
        places = places_text(finding) if whole else first_place(finding)
        write(f"if {condition_text(finding)}{taking}; {places}{more_text(parts, advised)}", "    ", 2)
        if advised.advice is not None:
            out.write(wrapped(advice_text(advised.advice), columns, "    fix ", "    ") + "\n")
        for text in probed_texts(advised):
            out.write(wrapped(text, columns, "    probe ", "    ") + "\n")
    if parts.possible:
        out.write("\n")
    if parts.questions:
        out.write("To know more, add what you know with --set KEY=VALUE:\n")
        for line in question_lines(parts):
            out.write(wrapped(line, columns, "  ", "    ") + "\n")
        out.write("\n")
    if parts.minor:
        out.write(wrapped(f"{minor_text(parts)}; {listed_by} says when", columns, "", "  ") + "\n\n")
    return is_cut


def write_dormant(parts: Parts, columns: int, out: TextIO, *, listed_by: str = "--all") -> None:
    """One paragraph of what is presumed not to be used, and what lists the records."""
    if parts.dormant:
        out.write(wrapped(f"{dormant_text(parts)}; {listed_by} lists the records", columns, "", "  ") + "\n\n")


def more_text(parts: Parts, advised: ReportedFinding) -> str:
    """What a finding that could apply stands for besides itself: ``; and 2 more; lacks 3 other names: AdamW, …``."""
    identifier = advised.finding.issue.id
    further, alike = parts.further.get(identifier, 0), parts.alike.get(identifier, ())
    rest = ", …" if len(alike) > _IDS else ""
    lacks = f"; lacks {counted(len(alike), 'other name')}: {', '.join(alike[:_IDS])}{rest}" if alike else ""
    return (f"; and {further} more" if further else "") + lacks


def minor_text(parts: Parts) -> str:
    """``2 more could apply, as a note or seldom: GC-0003, GC-0014``; empty if there is nothing."""
    if not parts.minor:
        return ""
    return f"{len(parts.minor)} more could apply, as a note or seldom: {ids_text(parts.minor)}"


def question_lines(parts: Parts) -> list[str]:
    """A line for each of the facts that decide most, and one for the others."""
    lines = [question_text(question) for question in parts.questions[:_QUESTIONS]]
    if rest := sum(len(question.ids) for question in parts.questions[_QUESTIONS:]):
        lines.append(f"{counted(len(parts.questions) - _QUESTIONS, 'other fact')} {rest} more")
    return lines


def question_text(question: Question) -> str:
    """``training.gradient_checkpointing decides 7 more``."""
    return f"{question.key} decides {len(question.ids)} more: {ids_text(question.ids)}"


def dormant_text(parts: Parts) -> str:
    """``Not for you unless you use: DeepSpeed (4), FSDP (2)``; empty if nothing is dormant."""
    if not parts.dormant:
        return ""
    named = [f"{feature} ({len(ids)})" for feature, ids in parts.dormant]
    more = f", {counted(len(named) - _FEATURES, 'other feature')}" if len(named) > _FEATURES else ""
    return f"Not for you unless you use: {', '.join(named[:_FEATURES])}{more}"


def assumed_text(finding: Finding) -> str:
    """What is presumed, and where it comes from."""
    return assumptions_text(finding.assumed)


def ids_text(ids: tuple[str, ...], most: int = _IDS) -> str:
    """The first few records, and how many others there are; names that a release lacks are counted alone."""
    named = [identifier for identifier in ids if not is_break(identifier)][:most]
    if not named:
        return counted(len(ids), "missing name")
    others = len(ids) - len(named)
    return ", ".join(named) + (f" and {counted(others, 'other')}" if others > 0 else "")
