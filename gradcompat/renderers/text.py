"""A report for people: what breaks, why we think so, what we could not see, the smallest change that helps."""

from __future__ import annotations

from typing import TextIO

from gradcompat.audit.report_parts import (
    Parts,
    Question,
    condition_text,
    parts_of,
    places_text,
    ranges,
)
from gradcompat.messages import assumptions_text, counted, joined
from gradcompat.model.environment import Skipped
from gradcompat.model.finding import Finding
from gradcompat.model.report import Audit, Newer, Report, ReportedFinding
from gradcompat.renderers.affected_text import AffectedBlock, advice_text, affected_block, places_of, probed_texts
from gradcompat.renderers.probe_text import ran
from gradcompat.renderers.summary_text import MANY, summary
from gradcompat.renderers.suppressed_text import counts_text, remark_text, replaced_text, suppression_text
from gradcompat.renderers.terminal import safe, skipped_text, width, wrapped

_QUESTIONS = 5  # facts that are asked for
_RANGES, _RANGES_OF_SEVERAL = 8, 2  # packages with a range that are told in a line each
_FEATURES = 10  # features of dormant records that are named
_NEWER = 3  # packages that are newer than the knowledge, and named
_FEW = 3  # names of many that are shown


def render(report: Report, out: TextIO) -> None:
    """Write the whole report."""
    columns = width()
    listing = report.show_suppressed is True
    several, many = len(report.audits) > 1, len(report.audits) >= MANY
    quiet = [audit for audit in report.audits if several and _nothing_to_say(audit, listing=listing, notes=not many)]
    told = set(map(id, quiet))
    cut = False
    for audit in report.audits:
        if id(audit) not in told:
            blocks = _affected(audit, columns, whole=report.show_all)
            cut |= any(block.cut for block in blocks)
            _audit(audit, blocks, columns, out, listing=listing, many=many, several=several, whole=report.show_all)
    if quiet:
        _quiet(quiet, columns, out, many=many)
    # What no file decides is told once, however many environments there are.
    parts = parts_of(report.findings, everything=report.show_all)
    _possible(parts, columns, out)
    if report.show_all:
        _every_dormant(report.findings, columns, out)
        _not_affected(parts.not_affected, columns, out)
    else:
        _dormant(parts, columns, out)
    _refuted(parts.refuted, columns, out)
    if not several:
        for audit in report.audits:
            if audit.kind is not None:
                _read_in_part(audit, columns, out, most=_RANGES, many=many, whole=report.show_all)
    if any(_asks_for_change(advised) for audit in report.audits if not audit.replaced for advised in audit.findings):
        text = "gradcompat plan with the same targets shows the whole change, and what was verified of it"
        rest = "; --all shows what does not fit above" if cut else ""
        out.write(wrapped(f"{text}{rest}", columns, "", "") + "\n\n")
    if assumed := [newer for audit in report.audits for newer in audit.newer if newer.assumed]:
        out.write(wrapped(_assumption(assumed), columns, "", "") + "\n\n")
    _beside(report, columns, out)
    out.write(summary(report) + "\n")


def _quiet(quiet: list[Audit], columns: int, out: TextIO, *, many: bool) -> None:
    """The environments of which nothing is sure to be wrong, and their notes."""
    for text, some in (
        ("no defect is sure in", [audit.source for audit in quiet if not audit.suppressed]),
        ("only suppressed findings in", [audit.source for audit in quiet if audit.suppressed]),
    ):
        if some:
            number = f"{counted(len(some), 'environment')}: " if many else ""
            out.write(wrapped(f"{text} {number}{_names(some, _FEW if many else 8)}", columns, "", "  ") + "\n\n")
    reasons: dict[str, list[str]] = {}
    for audit in quiet:
        for skipped in audit.skipped:
            reasons.setdefault(skipped.reason, []).append(_subject(skipped, ""))
    for reason, subjects in reasons.items():
        out.write(wrapped(f"{safe(reason)}: {_names(subjects, _FEW)}", columns, "note: ", "  ") + "\n")
    if reasons:
        out.write("\n")


def _beside(report: Report, columns: int, out: TextIO) -> None:
    """What was found and does not count, and which waivers do nothing any more."""
    lines = [wrapped(remark_text(remark), columns, "", "  ") for remark in report.remarks]
    if counts := counts_text(report.suppressed):
        lines.append(counts if report.show_suppressed else f"{counts}; --show-suppressed lists them")
    if lines:
        out.write("\n".join(lines) + "\n\n")


def _asks_for_change(advised: ReportedFinding) -> bool:
    return advised.finding.status == "affected" and not advised.finding.issue.informational


def _nothing_to_say(audit: Audit, *, listing: bool, notes: bool) -> bool:
    shown = audit.suppressed if listing else ()
    skipped = any((notes and not skipped.range) or skipped.gap for skipped in audit.skipped)
    sure = any(advised.finding.status == "affected" for advised in audit.findings)
    return audit.kind is not None and not sure and not skipped and not shown and not audit.replaced


def _names(names: list[str], most: int = 8) -> str:
    shown = ", ".join(safe(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _affected(audit: Audit, columns: int, *, whole: bool) -> list[AffectedBlock]:
    return [affected_block(advised, columns, whole=whole) for advised in parts_of(audit.findings).affected]


def _audit(
    audit: Audit,
    affected: list[AffectedBlock],
    columns: int,
    out: TextIO,
    *,
    listing: bool,
    many: bool,
    several: bool,
    whole: bool,
) -> None:
    if audit.kind is None:
        for skipped in audit.skipped:
            place = skipped.location if skipped.location is not None else skipped.what
            out.write(safe(f"{place}: {skipped.reason}") + "\n")
        if audit.hint is not None:
            out.write(f"  {safe(audit.hint)}\n")
        out.write("\n")
        return
    out.write(safe(_head(audit)) + "\n")
    if audit.replaced:
        out.write(wrapped(replaced_text(audit.replaced), columns, "", "  ") + "\n")
        out.write("\nWould come with it:\n" if affected else "\nNothing that is sure would come with it.\n")
    out.write("\n")
    for block in affected:
        out.write(f"{block.text}\n")
    _informational(parts_of(audit.findings).informational, columns, out)
    _cured(audit, columns, out)
    if listing:
        _suppressed(audit.suppressed, columns, out)
    if several:
        _read_in_part(audit, columns, out, most=_RANGES_OF_SEVERAL, many=many, whole=whole)


def _read_in_part(audit: Audit, columns: int, out: TextIO, *, most: int, many: bool, whole: bool) -> None:
    """The ranges of an environment, and what was not read of it."""
    told = _ranges(audit, columns, out, most=most)
    if _skipped(audit, columns, out, many=many, whole=whole) or told:
        out.write("\n")


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


def _informational(findings: tuple[ReportedFinding, ...], columns: int, out: TextIO) -> None:
    """Behaviour that surprises and is no defect: a line each."""
    if findings:
        out.write("Worth knowing:\n")
        for advised in findings:
            issue = advised.finding.issue
            taking = f"; taking it that {assumed_text(advised.finding)}" if advised.finding.assumed else ""
            text = f"{issue.summary} ({places_of(advised.finding)[0]}){taking}"
            out.write(wrapped(text, columns, f"  {issue.id}: ", "    ") + "\n")
        out.write("\n")


def _possible(parts: Parts, columns: int, out: TextIO) -> None:
    """What one fact decides, in two lines each, and what would decide the others in a line each."""
    if parts.possible:
        out.write("Could apply:\n")
    for advised in parts.possible:
        finding, issue = advised.finding, advised.finding.issue
        out.write(wrapped(issue.summary, columns, f"  {issue.id}: ", "    ") + "\n")
        taking = f", taking it that {assumed_text(finding)}" if finding.assumed else ""
        further = parts.further.get(issue.id, 0)
        more = f"; and {further} more" if further else ""
        text = f"if {condition_text(finding)}{taking}; {places_text(finding)}{more}"
        out.write(wrapped(text, columns, "    ", "    ") + "\n")
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


def question_lines(parts: Parts) -> list[str]:
    """A line for each of the facts that decide most, and one for the others."""
    lines = [question_text(question) for question in parts.questions[:_QUESTIONS]]
    if rest := sum(len(question.ids) for question in parts.questions[_QUESTIONS:]):
        lines.append(f"{counted(len(parts.questions) - _QUESTIONS, 'other fact')} {rest} more")
    return lines


def question_text(question: Question) -> str:
    """``training.gradient_checkpointing decides 7 more``."""
    return f"{question.key} decides {len(question.ids)} more: {_ids(question.ids)}"


def _ids(ids: tuple[str, ...]) -> str:
    """The first few, and how many others there are."""
    others = len(ids) - _FEW
    return ", ".join(ids[:_FEW]) + (f" and {counted(others, 'other')}" if others > 0 else "")


def _dormant(parts: Parts, columns: int, out: TextIO) -> None:
    """One paragraph of what is presumed not to be used."""
    if parts.dormant:
        out.write(wrapped(f"{dormant_text(parts)}; --all lists the records", columns, "", "  ") + "\n\n")


def dormant_text(parts: Parts) -> str:
    """``Not for you unless you use: DeepSpeed (4), FSDP (2)``; empty if nothing is dormant."""
    if not parts.dormant:
        return ""
    named = [f"{feature} ({len(ids)})" for feature, ids in parts.dormant]
    more = f", {len(named) - _FEATURES} other features" if len(named) > _FEATURES else ""
    return f"Not for you unless you use: {', '.join(named[:_FEATURES])}{more}"


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


def _ranges(audit: Audit, columns: int, out: TextIO, *, most: int) -> bool:
    """Each package of which only a range is known, and what its newest release would bring."""
    lines = range_lines(audit, most=most)
    for line in lines:
        out.write(wrapped(line, columns, "  range: ", "    ") + "\n")
    return bool(lines)


def range_lines(audit: Audit, *, most: int = _RANGES) -> list[str]:
    """A line for each range whose newest release brings something, and one for the others."""
    judged = sorted(ranges(audit), key=lambda one: not one[1])
    shown = ([one for one in judged if one[1]] or judged[:1])[:most]
    lines = []
    for skipped, ids in shown:
        brings = f"; with that {_ids(ids)} could apply" if ids else ""
        lines.append(f"{_subject(skipped, audit.source)}: {skipped.reason}{brings}")
    if len(judged) > len(shown):
        rest = _names([skipped.what for skipped, _ in judged[len(shown) :]], most)
        lines.append(f"judged by their newest releases too: {rest}")
    return lines


def assumed_text(finding: Finding) -> str:
    """What is presumed, and where it comes from."""
    return assumptions_text(finding.assumed)


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


def _skipped(audit: Audit, columns: int, out: TextIO, *, many: bool, whole: bool) -> bool:
    """What was not read, gaps first; those with one reason in one paragraph, of which notes name the first few."""
    reasons: dict[tuple[bool, str], list[Skipped]] = {}
    for skipped in sorted(audit.skipped, key=lambda one: not one.gap):
        if skipped.range and not skipped.gap and not many:
            continue
        reasons.setdefault((skipped.gap, skipped.reason), []).append(skipped)
    for (gap, reason), group in reasons.items():
        if len(group) == 1:
            out.write(wrapped(skipped_text(group[0]), columns, "  ", "    ") + "\n")
        else:
            label = "not checked" if gap else "note"
            subjects = [_subject(skipped, audit.source) for skipped in group]
            named = ", ".join(subjects) if gap or whole else _names(subjects, _FEW)
            out.write(wrapped(f"{reason}: {named}", columns, f"  {label}: ", "    ") + "\n")
    return bool(reasons)


def _subject(skipped: Skipped, source: str) -> str:
    place = skipped.location
    if place is None or place.line is None:
        return skipped.what
    return f"{skipped.what} (line {place.line})" if place.path == source else f"{skipped.what} ({place})"


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
