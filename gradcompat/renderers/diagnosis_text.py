"""A diagnosis for people: what it probably is, what speaks for it with file and line, and what would settle it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from gradcompat.messages import assumptions_text, counted
from gradcompat.model.diagnosis import Diagnosis, DiagnosisReport, ReadFile, Seen
from gradcompat.renderers.sources_text import sources_text
from gradcompat.renderers.terminal import safe, skipped_text, width, wrapped

_LABEL = 8
_IN_FULL = 5  # explanations, the most probable ones
_MOST_REASONS = 6
_MOST_FACTS = 12
_MOST_RULED_OUT = 8


def render(report: DiagnosisReport, out: TextIO) -> None:
    """Write the whole report."""
    columns = width()
    for file in report.files:
        out.write(safe(_file(file)) + "\n")
    paths = {seen.location.path for seen in (*report.versions, *report.settings)}
    alone = len(paths | {file.path for file in report.files}) == 1
    for label, facts in (("with", report.versions), ("set", report.settings)):
        if facts:
            text = ", ".join(f"{seen.sentence} ({_place(seen, alone)})" for seen in facts[:_MOST_FACTS])
            more = f" and {len(facts) - _MOST_FACTS} more" if len(facts) > _MOST_FACTS else ""
            out.write(wrapped(text + more, columns, f"  {label} ", "    ") + "\n")
    out.write("\n" if report.files else "")
    serious = [diagnosis for diagnosis in report.diagnoses if not diagnosis.harmless and not diagnosis.unused]
    for rank, diagnosis in enumerate(serious[:_IN_FULL], start=1):
        _diagnosis(f"{rank}. ", diagnosis, columns, out)
    if less_likely := serious[_IN_FULL:]:
        _titles("Less likely", less_likely, columns, out)
    if unused := [diagnosis for diagnosis in report.diagnoses if diagnosis.unused]:
        _titles("The same curve comes from these, which take what this run does not seem to use", unused, columns, out)
    harmless = [diagnosis for diagnosis in report.diagnoses if diagnosis.harmless]
    if harmless:
        out.write("Harmless:\n\n")
        for diagnosis in harmless:
            _diagnosis("- ", diagnosis, columns, out)
    if report.ruled_out:
        out.write("Similar, but ruled out:\n")
        for ruled_out in report.ruled_out[:_MOST_RULED_OUT]:
            out.write(
                wrapped(f"{ruled_out.title}: {ruled_out.sentence}", columns, f"  {ruled_out.issue} ", "    ") + "\n"
            )
        if len(report.ruled_out) > _MOST_RULED_OUT:
            out.write(f"  and {len(report.ruled_out) - _MOST_RULED_OUT} more\n")
        out.write("\n")
    if report.unexplained:
        out.write("Not explained:\n")
        for seen in report.unexplained:
            why = "" if seen.sentence == "an error" else f" ({seen.sentence})"
            out.write(wrapped(f"{seen.location}  {seen.text}{why}", columns, "  ", "    ") + "\n")
        out.write("\n")
    for skipped in report.skipped:
        out.write(wrapped(skipped_text(skipped), columns, "  ", "    ") + "\n")
    out.write("\n" if report.skipped else "")
    out.write(_summary(report, len(serious), len(unused)) + "\n")


def _titles(head: str, diagnoses: Sequence[Diagnosis], columns: int, out: TextIO) -> None:
    out.write(f"{head}:\n")
    for diagnosis in diagnoses:
        mark = f"  {diagnosis.issue}: " if diagnosis.issue else "  "
        out.write(wrapped(diagnosis.title, columns, mark, "    ") + "\n")
    out.write("\n")


def _place(seen: Seen, alone: bool) -> str:
    """The place, without the file where there is only one."""
    return f"line {seen.location.line}" if alone and seen.location.line is not None else str(seen.location)


def _file(file: ReadFile) -> str:
    parts = [file.kind] if file.lines is None else [file.kind, counted(file.lines, "line")]
    if file.steps:
        parts.append(f"{counted(file.steps, 'step')} with metrics")
    return f"{file.path}: {', '.join(parts)}"


def _diagnosis(mark: str, diagnosis: Diagnosis, columns: int, out: TextIO) -> None:
    head = f"{mark}{diagnosis.issue}: " if diagnosis.issue else mark
    out.write(wrapped(diagnosis.title, columns, head, " " * len(mark)) + "\n")
    for index, seen in enumerate(diagnosis.because[:_MOST_REASONS]):
        out.write(_line("because" if index == 0 else "", _reason(seen), columns))
    if len(diagnosis.because) > _MOST_REASONS:
        out.write(_line("", f"and {len(diagnosis.because) - _MOST_REASONS} more", columns))
    for index, sentence in enumerate(diagnosis.against):
        out.write(_line("but" if index == 0 else "", sentence, columns))
    if diagnosis.assumed:
        out.write(_line("taking it", f"that {assumptions_text(diagnosis.assumed)}", columns))
    for index, sentence in enumerate(diagnosis.settles):
        out.write(_line("settles" if index == 0 else "", sentence, columns))
    if diagnosis.issue is not None:
        out.write(_line("more", f"gradcompat explain {diagnosis.issue}", columns))
    out.write("\n")


def _reason(seen: Seen) -> str:
    if seen.text is None:
        return f"{seen.sentence} ({seen.location})"
    return f"{seen.location}  {seen.text}" + ("" if seen.sentence.endswith(" once") else f" ({seen.sentence})")


def _line(label: str, text: str, columns: int) -> str:
    return wrapped(text, columns, f"   {label:<{_LABEL}} ", f"   {'':<{_LABEL}} ") + "\n"


def _summary(report: DiagnosisReport, serious: int, unused: int) -> str:
    if not report.files:
        return "nothing could be read"
    found = "nothing recognised" if not serious else counted(serious, "explanation")
    if unused:
        found += f", {unused} of what is not used"
    harmless = len(report.diagnoses) - serious - unused
    if harmless:
        found += f", {harmless} of no concern"
    if report.unexplained:
        found += f", {len(report.unexplained)} not explained"
    gaps = sum(1 for skipped in report.skipped if skipped.gap)
    if gaps:
        found += f", {gaps} not read"
    return f"{found} ({sources_text(report.records, report.date, report.sources)})"
