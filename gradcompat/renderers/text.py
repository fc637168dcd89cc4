"""A report for people: what breaks, why we think so, what we could not see, the smallest change that helps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from gradcompat.audit.report_parts import parts_of, ranges
from gradcompat.messages import BEST_EFFORT, NO_PACKAGES, NO_RUN, counted, joined
from gradcompat.model.environment import Skipped
from gradcompat.model.finding import Finding
from gradcompat.model.issue import LEVELS
from gradcompat.model.report import Audit, Newer, Report, ReportedFinding
from gradcompat.renderers.affected_text import AffectedBlock, affected_block, places_of
from gradcompat.renderers.missing_names import others_text, together
from gradcompat.renderers.parts_text import write_dormant, write_informational, write_possible
from gradcompat.renderers.probe_text import ran
from gradcompat.renderers.range_lines import first_names, subject_text, write_ranges
from gradcompat.renderers.summary_text import MANY, summary
from gradcompat.renderers.suppressed_text import counts_text, remark_text, replaced_text, suppression_text
from gradcompat.renderers.terminal import safe, skipped_text, width, wrapped

_NEWER = 3  # packages that are newer than the knowledge, and named
_FEW = 3  # names of many that are shown
_GAPS = 6  # places of one reason that were not checked, and are named
_NOTES = 4  # reasons of notes that are told


def render(report: Report, out: TextIO) -> None:
    """Write the whole report."""
    columns = width()
    listing = report.show_suppressed is True
    several, many = len(report.audits) > 1, len(report.audits) >= MANY
    quiet = [audit for audit in report.audits if several and _nothing_to_say(audit, listing=listing)]
    told = set(map(id, quiet))
    cut = False
    first: dict[str, ReportedFinding] = {}  # where a defect is told in full
    told |= _alike(report, columns, out)
    for audit in report.audits:
        if id(audit) not in told:
            blocks = _affected(audit, columns, first, whole=report.show_all)
            cut |= any(block.cut for block in blocks)
            _audit(audit, blocks, columns, out, listing=listing, whole=report.show_all)
    _quiet(quiet, columns, out, many=many)
    read = [audit for audit in report.audits if audit.kind is not None]
    if several and _skipped(read, columns, out, notes=False, whole=report.show_all):
        out.write("\n")
    # What is no defect or is not decided is told once, however many environments there are.
    parts = parts_of(report.findings, everything=report.show_all)
    cut |= write_informational(parts.informational, columns, out, whole=report.show_all)
    cut |= write_possible(parts, columns, out, whole=report.show_all)
    if report.show_all:
        _every_dormant(report.findings, columns, out)
        _not_affected(parts.not_affected, columns, out)
    else:
        write_dormant(parts, columns, out)
    _refuted(parts.refuted, columns, out)
    ranges_told = write_ranges([(audit.source, ranges(audit.findings, audit.skipped)) for audit in read], columns, out)
    if _skipped(read, columns, out, gaps=not several, whole=report.show_all) or ranges_told:
        out.write("\n")
    commands = []
    current = [advised for audit in report.audits if not audit.replaced for advised in audit.findings]
    if asking := [advised.finding.issue.level for advised in current if _asks_for_change(advised)]:
        level = max(asking, key=LEVELS.index)
        option = "" if level == LEVELS[-1] else f" --fail-on {level}"  # below it a plan changes nothing by itself
        commands.append(
            f"gradcompat plan{option} with the same targets shows the whole change, and what was verified of it"
        )
    if cut:
        commands.append("--all shows what does not fit above")
    if commands:
        out.write(wrapped("; ".join(commands), columns, "", "") + "\n\n")
    if assumed := [newer for audit in report.audits for newer in audit.newer if newer.assumed]:
        out.write(wrapped(_assumption(assumed), columns, "", "") + "\n\n")
    _beside(report, columns, out)
    out.write(summary(report) + "\n")


def _alike(report: Report, columns: int, out: TextIO) -> set[int]:
    """Environments that were not read for one reason, where they are several: together. Their identities."""
    reasons: dict[tuple[str, str | None], list[Audit]] = {}
    for audit in report.audits:
        if audit.kind is None and len(audit.skipped) == 1:
            reasons.setdefault((audit.skipped[0].reason, audit.hint), []).append(audit)
    told: set[int] = set()
    for (reason, hint), audits in reasons.items():
        if len(audits) < _FEW or report.show_all:
            continue
        told |= set(map(id, audits))
        named = first_names([audit.source for audit in audits], _GAPS)
        out.write(wrapped(f"{reason}: {named}", columns, "", "  ") + "\n")
        if hint is not None:
            out.write(f"  {safe(hint)}\n")
        out.write("\n")
    return told


def _quiet(quiet: list[Audit], columns: int, out: TextIO, *, many: bool) -> None:
    """The environments of which nothing is sure to be wrong, and their notes."""
    for text, some in (
        ("no defect is sure in", [audit.source for audit in quiet if not audit.suppressed]),
        ("only suppressed findings in", [audit.source for audit in quiet if audit.suppressed]),
    ):
        if some:
            number = f"{counted(len(some), 'environment')}: " if many else ""
            out.write(wrapped(f"{text} {number}{first_names(some, _FEW if many else 5)}", columns, "", "  ") + "\n\n")


def _beside(report: Report, columns: int, out: TextIO) -> None:
    """What was found and does not count, and which waivers do nothing any more."""
    lines = [wrapped(remark_text(remark), columns, "", "  ") for remark in report.remarks]
    if counts := counts_text(report.suppressed):
        lines.append(counts if report.show_suppressed else f"{counts}; --show-suppressed lists them")
    if lines:
        out.write("\n".join(lines) + "\n\n")


def _asks_for_change(advised: ReportedFinding) -> bool:
    return advised.finding.status == "affected" and not advised.finding.issue.informational


def _nothing_to_say(audit: Audit, *, listing: bool) -> bool:
    shown = audit.suppressed if listing else ()
    sure = any(_asks_for_change(advised) for advised in audit.findings)
    return audit.kind is not None and not sure and not shown and not audit.replaced


def _affected(audit: Audit, columns: int, first: dict[str, ReportedFinding], *, whole: bool) -> list[AffectedBlock]:
    blocks = []
    affected = parts_of(audit.findings).affected
    for advised, others in [(one, ()) for one in affected] if whole else together(affected):
        above = first.setdefault(advised.finding.issue.id, advised)
        told = None if whole or above.finding.source == advised.finding.source else above
        blocks.append(affected_block(advised, columns, whole=whole, told=told, others=others_text(others)))
    return blocks


def _audit(
    audit: Audit,
    affected: list[AffectedBlock],
    columns: int,
    out: TextIO,
    *,
    listing: bool,
    whole: bool,
) -> None:
    if audit.kind is None:
        for skipped in audit.skipped:
            if skipped.gap:
                place = skipped.location if skipped.location is not None else skipped.what
                out.write(safe(f"{place}: {skipped.reason}") + "\n")
        if audit.hint is not None:
            out.write(f"  {safe(audit.hint)}\n")
        _skipped([audit], columns, out, gaps=False, whole=whole)
        out.write("\n")
        return
    out.write(safe(_head(audit)) + "\n")
    if audit.replaced:
        out.write(wrapped(replaced_text(audit.replaced), columns, "", "  ") + "\n")
        out.write("\nWould come with it:\n" if affected else "\nNothing that is sure would come with it.\n")
    out.write("\n")
    for block in affected:
        out.write(f"{block.text}\n")
    _cured(audit, columns, out)
    if listing:
        _suppressed(audit.suppressed, columns, out)


def _head(audit: Audit) -> str:
    """The environment in one line; a source that already says what it is stays alone."""
    kind = "" if audit.kind == "installed" else f"{audit.kind}, "
    some = f", {audit.recognised} of them with records" if audit.packages else ""
    runs = audit.contexts
    beside = "" if not runs else f"; with {runs[0] if len(runs) == 1 else counted(len(runs), 'training run')}"
    return f"{audit.source}: {kind}{counted(audit.packages, 'package')}{some}{beside}"


def _cured(audit: Audit, columns: int, out: TextIO) -> None:
    """What the pinned versions have, and the others do not: a line each."""
    if audit.cured:
        out.write("Would be cured:\n\n")
        for advised in audit.cured:
            issue = advised.finding.issue
            text = f"{issue.summary} ({places_of(advised.finding)[0]})"
            out.write(wrapped(text, columns, f"  {issue.level} {issue.id}: ", "    ") + "\n")
        out.write("\n")


def _every_dormant(findings: tuple[ReportedFinding, ...], columns: int, out: TextIO) -> None:
    """Each record that hangs on what is presumed not to be used."""
    dormant = [advised.finding for advised in findings if advised.finding.status == "dormant"]
    if dormant:
        out.write("Not for you unless you use what stands before the colon:\n\n")
    for finding in dormant:
        opening = f"  {finding.issue.id} {feature_text(finding)}: "
        out.write(wrapped(finding.issue.summary, columns, opening, "    ") + "\n")
    if dormant:
        out.write("\n")


def feature_text(finding: Finding) -> str:
    """What a dormant record hangs on."""
    return " and ".join(one for one in finding.dormant if one) or "an older release"


def _refuted(refuted: tuple[ReportedFinding, ...], columns: int, out: TextIO) -> None:
    """What could apply, and was measured not to."""
    if refuted:
        out.write("Refuted here:\n\n")
    for advised in refuted:
        issue = advised.finding.issue
        out.write(wrapped(issue.summary, columns, f"  {issue.id}: ", "    ") + "\n")
        for result in advised.probed:
            text = f"{result.reason} ({result.measurement.spec}; {ran(result)})"
            out.write(wrapped(text, columns, "    probe  ", "    ") + "\n")
    if refuted:
        out.write("\n")


def _not_affected(findings: tuple[ReportedFinding, ...], columns: int, out: TextIO) -> None:
    """Records of the packages that are there, which do not apply."""
    if findings:
        out.write("Does not apply:\n\n")
    for issue in {advised.finding.issue.id: advised.finding.issue for advised in findings}.values():
        out.write(wrapped(issue.summary, columns, f"  {issue.id}: ", "    ") + "\n")
    if findings:
        out.write("\n")


def _suppressed(suppressed: tuple[ReportedFinding, ...], columns: int, out: TextIO) -> None:
    """What was found, and why it does not count."""
    if suppressed:
        out.write("Suppressed:\n\n")
    for advised in suppressed:
        finding, issue, said = advised.finding, advised.finding.issue, advised.suppressed
        maybe = "" if finding.status == "affected" else "perhaps: "
        out.write(wrapped(f"{maybe}{issue.summary}", columns, f"  {issue.level} {issue.id}: ", "    ") + "\n")
        places = places_of(finding)
        more = f"; and {len(places) - 3} more" if len(places) > 3 else ""
        out.write(wrapped("; ".join(places[:3]) + more, columns, "    at  ", "        ") + "\n")
        if said is not None:
            out.write(wrapped(suppression_text(said), columns, "    by  ", "        ") + "\n\n")


def _skipped(
    audits: Sequence[Audit], columns: int, out: TextIO, *, gaps: bool = True, notes: bool = True, whole: bool
) -> bool:
    """What was not read, gaps first; those with one reason together, and notes in a line each.

    Args:
        audits: the environments.
        columns: of the terminal.
        out: where it is written.
        gaps: those that could hide a defect are told.
        notes: the others are told; ranges are told by themselves.
        whole: everything is named.
    """
    reasons: dict[tuple[bool, str], dict[str, Skipped]] = {}
    for audit in audits:
        for skipped in audit.skipped:
            if gaps if skipped.gap else notes and not skipped.range:
                subject = subject_text(skipped, audit.source if len(audits) == 1 else "")
                reasons.setdefault((skipped.gap, skipped.reason), {})[subject] = skipped
    number = 0
    for (gap, reason), group in sorted(reasons.items(), key=lambda item: (not item[0][0], _is_expected(item[0][1]))):
        number += not gap
        if number > _NOTES and not whole:
            continue
        if len(group) == 1:
            (skipped,) = group.values()
            out.write(wrapped(skipped_text(skipped), columns, "  ", "    ") + "\n")
            continue
        label = "not checked" if gap else "note"
        names = list(group)
        named = ", ".join(names) if whole else first_names(names, _GAPS) if gap else _fitting(names, columns, reason)
        out.write(wrapped(f"{reason}: {named}", columns, f"  {label}: ", "    ") + "\n")
    if number > _NOTES and not whole:
        out.write(f"  {counted(number - _NOTES, 'more note')}; --all shows all of them\n")
    return bool(reasons)


def _is_expected(reason: str) -> bool:
    """Is it said of most files of their kind? Then other notes come first."""
    return reason in (NO_RUN, NO_PACKAGES) or reason.startswith(BEST_EFFORT)


def _fitting(names: Iterable[str], columns: int, reason: str) -> str:
    """As many of the names as one line takes behind their reason, and one at least."""
    names = list(names)
    room = columns - len(f"  note: {reason}: ")
    most = next((most for most in range(_FEW, 1, -1) if len(first_names(names, most)) <= room), 1)
    return first_names(names, most)


def _assumption(newer: list[Newer]) -> str:
    """One sentence for all that nobody has looked at, and that open ranges are taken to reach."""
    seen = dict.fromkeys(
        (newer_release.name, newer_release.version, newer_release.horizon, newer_release.date)
        for newer_release in newer
    )
    if len(seen) == 1:
        ((name, version, horizon, date),) = seen
        said = f"{name} {version} is newer than this knowledge ({horizon}, {date})"
    else:
        named = [f"{name} {version} ({horizon}, {date})" for name, version, horizon, date in seen]
        rest = [f"{len(named) - _NEWER} more"] if len(named) > _NEWER else []
        said = f"{joined((*named[:_NEWER], *rest), 'and')} are newer than this knowledge"
    return f"{said}: known unfixed defects are assumed to remain"
