"""A report for people: what breaks, why we think so, what we could not see, the smallest change that helps."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from gradcompat.messages import counted, entry_text, joined, move_text, moves_text, remedy_text
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.model.finding import Advice, Finding
from gradcompat.model.issue import LEVELS, CodeRemedy, InstallRemedy, VersionRemedy
from gradcompat.model.report import Audit, Newer, Report, ReportedFinding
from gradcompat.renderers.probe_text import ran
from gradcompat.renderers.sources_text import sources_text
from gradcompat.renderers.suppressed_text import counts_text, remark_text, suppression_text
from gradcompat.renderers.terminal import safe, skipped_text, width, wrapped

_LABEL = 9
_MOST = 8  # places of one finding that are shown
_NEWER = 3  # packages that are newer than the knowledge, and named
_MANY = 16  # environments, from which on each is told in fewer words
_FEW = 3  # names of many that are shown
BASIS = {
    "measured": "measured by running releases",
    "tags": "read in the tagged sources",
    "wheels": "read in the released files",
    "release-notes": "stated in release notes",
    "reported": "reported, not checked by us",
}


def render(report: Report, out: TextIO) -> None:
    """Write the whole report."""
    columns = width()
    listing = report.show_suppressed is True
    many = len(report.audits) >= _MANY
    quiet = [audit for audit in report.audits if _nothing_to_say(audit, listing=listing, notes=not many)]
    told = set(map(id, quiet)) if len(report.audits) > 1 else set()
    for audit in report.audits:
        if id(audit) not in told:
            _audit(audit, columns, out, listing=listing, many=many)
    if many:
        _many(report, quiet, columns, out)
    elif len(report.audits) > 1:
        clean = [audit.source for audit in quiet if not audit.suppressed]
        others = [audit.source for audit in quiet if audit.suppressed]
        out.write(f"nothing found in {_names(clean)}\n\n" if clean else "")
        out.write(f"only suppressed findings in {_names(others)}\n\n" if others else "")
    if any(_asks_for_change(advised) for audit in report.audits for advised in audit.findings):
        text = "gradcompat plan with the same targets shows the whole change, and what was verified of it"
        out.write(wrapped(text, columns, "", "") + "\n\n")
    if assumed := [newer for audit in report.audits for newer in audit.newer if newer.assumed]:
        out.write(wrapped(_assumption(assumed), columns, "", "") + "\n\n")
    _beside(report, columns, out)
    out.write(_summary(report) + "\n")


def _many(report: Report, quiet: list[Audit], columns: int, out: TextIO) -> None:
    """What is said once of many environments: those without findings, their notes, and what would decide most."""
    for text, some in (
        ("nothing found in", [audit.source for audit in quiet if not audit.suppressed]),
        ("only suppressed findings in", [audit.source for audit in quiet if audit.suppressed]),
    ):
        if some:
            line = f"{text} {counted(len(some), 'environment')}: {_names(some, _FEW)}"
            out.write(wrapped(line, columns, "", "  ") + "\n\n")
    reasons: dict[str, list[str]] = {}
    for audit in quiet:
        for skipped in audit.skipped:
            reasons.setdefault(skipped.reason, []).append(_subject(skipped, ""))
    for reason, subjects in reasons.items():
        out.write(wrapped(f"{safe(reason)}: {_names(subjects, _FEW)}", columns, "note: ", "  ") + "\n")
    if reasons:
        out.write("\n")
    conditional = [one.finding for one in report.findings if one.finding.status == "conditional"]
    if conditional:
        out.write(f"a check of fewer than {_MANY} environments shows the condition of each finding\n\n")
    _questions(conditional, columns, out)


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
    skipped = any(notes or one.gap for one in audit.skipped)
    return audit.kind is not None and not audit.findings and not skipped and not shown


def _names(names: list[str], most: int = 8) -> str:
    shown = ", ".join(safe(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _audit(audit: Audit, columns: int, out: TextIO, *, listing: bool, many: bool) -> None:
    if audit.kind is None:
        for skipped in audit.skipped:
            place = skipped.location if skipped.location is not None else skipped.what
            out.write(safe(f"{place}: {skipped.reason}") + "\n")
        if audit.hint is not None:
            out.write(f"  {safe(audit.hint)}\n")
        out.write("\n")
        return
    out.write(safe(_head(audit)) + "\n\n")
    for advised in audit.findings:
        if _asks_for_change(advised):
            _affected(advised, columns, out)
    conditional = [advised for advised in audit.findings if advised.finding.status == "conditional"]
    if conditional and many:
        out.write(wrapped(_conditional_briefly(conditional), columns, "  ", "    ") + "\n\n")
    elif conditional:
        out.write("Depends on what was not seen:\n\n")
        here = [advised for advised in conditional if not _needs_another_package(advised.finding)]
        _conditional([advised for advised in here if advised.finding.issue.level != "note"], columns, out)
        _also(conditional, columns, out)
        notes = [advised.finding.issue.id for advised in here if advised.finding.issue.level == "note"]
        if notes:
            text = f"{joined(tuple(dict.fromkeys(notes)), 'and')} may apply; gradcompat explain ID describes each"
            out.write(wrapped(text, columns, "  note: ", "    ") + "\n\n")
        _questions([advised.finding for advised in here], columns, out)
    _informational([advised.finding for advised in audit.findings], columns, out)
    others = [advised.finding for advised in audit.findings if advised.finding.status == "not_affected"]
    if others:
        out.write("Does not apply:\n")
        for finding in others:
            out.write(wrapped(finding.issue.summary, columns, f"  {finding.issue.id} ", " " * 10) + "\n")
        out.write("\n")
    if listing:
        _suppressed(audit.suppressed, columns, out)
    _skipped(audit, columns, out, many=many)


def _head(audit: Audit) -> str:
    """The environment in one line; a source that already says what it is stays alone."""
    kind = "" if audit.kind == "installed" else f"{audit.kind}, "
    some = f", {audit.recognised} of them with records" if audit.packages else ""
    runs = audit.contexts
    beside = "" if not runs else f"; with {runs[0] if len(runs) == 1 else counted(len(runs), 'training run')}"
    return f"{audit.source}: {kind}{counted(audit.packages, 'package')}{some}{beside}"


def _affected(advised: ReportedFinding, columns: int, out: TextIO) -> None:
    finding, issue = advised.finding, advised.finding.issue
    out.write(wrapped(issue.summary, columns, f"{issue.level} {issue.id}: ", "  ") + "\n")
    places = _places(finding)
    for place in places[:_MOST]:
        out.write(_line("at", place, columns))
    if len(places) > _MOST:
        out.write(_line("", f"and {len(places) - _MOST} more", columns))
    out.write(_line("because", _because(finding), columns))
    if len(finding.contexts) > 1:
        out.write(_line("in", _names(list(finding.contexts)), columns))
    if issue.silent:
        out.write(_line("silent", "nothing is raised: the run goes on, wrong", columns))
    out.write(_line("evidence", _evidence(finding), columns))
    _probed(advised, columns, out)
    _fix(advised, columns, out)
    if issue.probes and not advised.probed:
        out.write(_line("prove", f"gradcompat probe {issue.id}, in the environment that trains", columns))
    out.write(_line("more", f"gradcompat explain {issue.id}", columns) + "\n")


def _probed(advised: ReportedFinding, columns: int, out: TextIO) -> None:
    """What was measured, in which versions and on which device."""
    for result in advised.probed:
        outcome = result.outcome.replace("_", " ")
        text = f"{outcome}: {result.reason} ({result.measurement.spec}; {ran(result)})"
        out.write(_line("probe", text, columns))


def _informational(findings: list[Finding], columns: int, out: TextIO) -> None:
    """Behaviour that surprises and is no defect: a line each."""
    applying = [one for one in findings if one.status == "affected" and one.issue.informational]
    if applying:
        out.write("Worth knowing:\n\n")
        for finding in applying:
            text = f"{finding.issue.summary} ({'; '.join(_places(finding)[:2])})"
            out.write(wrapped(text, columns, f"  {finding.issue.id}: ", "    ") + "\n")
        out.write("\n")


def _conditional_briefly(conditional: list[ReportedFinding]) -> str:
    levels = Counter(advised.finding.issue.level for advised in conditional)
    counts = tuple(counted(levels[level], level) for level in reversed(LEVELS) if levels[level])
    ids = list(dict.fromkeys(advised.finding.issue.id for advised in conditional))
    return f"{joined(counts, 'and')} depending on what was not seen: {_names(ids)}"


def _conditional(conditional: list[ReportedFinding], columns: int, out: TextIO) -> None:
    """Under the packages that they are about, and in fewer words: `explain` has the rest, and --set the remedy."""
    groups: dict[tuple[str, ...], list[ReportedFinding]] = {}
    for advised in conditional:
        groups.setdefault(tuple(_places(advised.finding)), []).append(advised)
    for places, group in groups.items():
        shown = "; ".join(places[:3]) + (f"; and {len(places) - 3} more" if len(places) > 3 else "")
        out.write(wrapped(shown, columns, "  ", "    ") + "\n")
        for advised in group:
            issue = advised.finding.issue
            out.write(wrapped(issue.summary, columns, f"    {issue.level} {issue.id}: ", "      ") + "\n")
            out.write(wrapped(_simplest(advised.finding), columns, "      if  ", "          ") + "\n")
            if advised.advice is not None:
                out.write(wrapped(advice_text(advised.advice), columns, "      fix ", "          ") + "\n")
            for result in advised.probed:
                verdict = "refuted here" if advised.refuted else result.outcome.replace("_", " ")
                text = f"{verdict}: {result.reason} ({result.measurement.spec}; {ran(result)})"
                out.write(wrapped(text, columns, "      probe  ", "          ") + "\n")
        out.write("\n")


def _suppressed(suppressed: tuple[ReportedFinding, ...], columns: int, out: TextIO) -> None:
    """What was found, and why it does not count."""
    if suppressed:
        out.write("Suppressed:\n\n")
    for advised in suppressed:
        finding, issue, said = advised.finding, advised.finding.issue, advised.suppressed
        maybe = "" if finding.status == "affected" else "perhaps: "
        out.write(wrapped(f"{maybe}{issue.summary}", columns, f"  {issue.level} {issue.id}: ", "    ") + "\n")
        places = _places(finding)
        more = f"; and {len(places) - 3} more" if len(places) > 3 else ""
        out.write(wrapped("; ".join(places[:3]) + more, columns, "    at  ", "        ") + "\n")
        if said is not None:
            out.write(wrapped(suppression_text(said), columns, "    by  ", "        ") + "\n\n")


def _needs_another_package(finding: Finding) -> bool:
    """Does every way to be affected need a package that is not listed?"""
    return all(any(unknown.unlisted for unknown in one) for one in finding.unknown)


def _also(conditional: list[ReportedFinding], columns: int, out: TextIO) -> None:
    """One line for what a package would bring that is not listed, where more may be installed than is."""
    wanted: dict[str, list[str]] = {}
    for advised in conditional:
        if _needs_another_package(advised.finding):
            for one in advised.finding.unknown:
                name = next(unknown.key for unknown in one if unknown.unlisted)
                wanted.setdefault(name, []).append(advised.finding.issue.id)
    if wanted:
        text = "; ".join(f"{name} ({', '.join(dict.fromkeys(ids))})" for name, ids in sorted(wanted.items()))
        out.write(wrapped(f"These would matter if they are installed too: {text}", columns, "  ", "    ") + "\n\n")


def _simplest(finding: Finding) -> str:
    """The condition with the fewest parts; how many others there are."""
    alternatives = [(len(one), " and ".join(unknown.sentence for unknown in one)) for one in finding.unknown]
    text = min(alternatives, key=lambda alternative: (alternative[0], len(alternative[1])))[1]
    return text if len(alternatives) == 1 else f"{text}, or in {counted(len(alternatives) - 1, 'other case')}"


def _skipped(audit: Audit, columns: int, out: TextIO, *, many: bool) -> None:
    """What was not read, gaps first; those with one reason in one paragraph. Of many only notes are left out."""
    reasons: dict[tuple[bool, str], list[Skipped]] = {}
    for skipped in sorted(audit.skipped, key=lambda one: not one.gap):
        reasons.setdefault((skipped.gap, skipped.reason), []).append(skipped)
    for (gap, reason), group in reasons.items():
        if len(group) == 1:
            out.write(wrapped(skipped_text(group[0]), columns, "  ", "    ") + "\n")
        else:
            label = "not checked" if gap else "note"
            subjects = [_subject(skipped, audit.source) for skipped in group]
            named = _names(subjects, _FEW) if many and not gap else ", ".join(subjects)
            out.write(wrapped(f"{reason}: {named}", columns, f"  {label}: ", "    ") + "\n")
    if reasons:
        out.write("\n")


def _subject(skipped: Skipped, source: str) -> str:
    place = skipped.location
    if place is None or place.line is None:
        return skipped.what
    return f"{skipped.what} (line {place.line})" if place.path == source else f"{skipped.what} ({place})"


def _line(label: str, text: str, columns: int) -> str:
    return wrapped(text, columns, f"  {label:<{_LABEL}} ", f"  {'':<{_LABEL}} ") + "\n"


def _places(finding: Finding) -> list[str]:
    """Each package behind its line; entries that differ in nothing but their place share one."""
    places: dict[str, list[Location]] = {}
    for package in finding.packages:
        places.setdefault(entry_text(package) + _fork(package), []).append(package.location)
    shown = []
    for text, locations in places.items():
        where = ", ".join(str(location) for location in locations[:3])
        more = f" and {len(locations) - 3} more" if len(locations) > 3 else ""
        shown.append(f"{where}{more} {text}")
    return shown


def _fork(package: Package) -> str:
    """Which alternative of the lockfile an entry belongs to."""
    if package.extras:
        return f" (with {', '.join(package.extras)})"
    if package.forks:
        shown = ", ".join(package.forks[:3])
        return f" ({shown}{', …' if len(package.forks) > 3 else ''})"
    if package.marker is not None:
        marker = package.marker if len(package.marker) <= 70 else package.marker[:69] + "…"
        return f" (where {marker})"
    return ""


def _because(finding: Finding) -> str:
    parts = []
    for reason in finding.because:
        place = reason.location
        from_package = any(place is package.location for package in finding.packages)
        parts.append(reason.sentence if place is None or from_package else f"{reason.sentence} ({place})")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _evidence(finding: Finding) -> str:
    references = [reference for reference in finding.issue.references if reference.type in ("FIX", "REPORT")]
    url = (references or list(finding.issue.references))[0].url
    return f"{BASIS[finding.issue.range_basis]}; {url}"


def _fix(advised: ReportedFinding, columns: int, out: TextIO) -> None:
    advice = advised.advice
    if advice is None:
        out.write(_line("fix", "no remedy of this record fits this environment", columns))
        return
    out.write(_line("fix", advice_text(advice), columns))
    note = None if isinstance(advice.remedy, (CodeRemedy, InstallRemedy)) else advice.remedy.note
    if note is not None:
        out.write(_line("note", note, columns))


def advice_text(advice: Advice) -> str:
    """In the words of a plan, of which this is the first line."""
    remedy = advice.remedy
    if isinstance(remedy, VersionRemedy) and advice.target is not None:
        text = move_text(remedy.kind, advice.package or remedy.package, advice.current, advice.target)
    else:
        text = remedy_text(remedy, with_note=False)
    text = ", ".join((text, *moves_text(advice.changes)[1:]))
    if advice.line is not None:
        text += f"; in {advice.location} write `{advice.line}`"
    if advice.introduces:
        return f"{text}; that brings {', '.join(advice.introduces)} instead"
    return text


def _questions(findings: list[Finding], columns: int, out: TextIO) -> None:
    """What would decide most of the open findings, as options to add."""
    asked = Counter(
        unknown.key
        for finding in findings
        for unknown in {one for group in finding.unknown for one in group}
        if "." in unknown.key
    )
    if asked:
        keys = [key for key, _ in sorted(asked.items(), key=lambda item: (-item[1], item[0]))[:4]]
        hint = " ".join(f"--set {key}=…" for key in keys)
        out.write(wrapped(f"To decide, add what you know: {hint}", columns, "  ", "    ") + "\n\n")


def _assumption(newer: list[Newer]) -> str:
    """One sentence for all that nobody has looked at, and that open ranges are taken to reach."""
    seen = dict.fromkeys((one.name, one.version, one.horizon, one.date) for one in newer)
    if len(seen) == 1:
        ((name, version, horizon, date),) = seen
        said = f"{name} {version} is newer than this knowledge ({horizon}, {date})"
    else:
        named = [f"{name} {version} ({horizon}, {date})" for name, version, horizon, date in seen]
        rest = [f"{len(named) - _NEWER} more"] if len(named) > _NEWER else []
        said = f"{joined((*named[:_NEWER], *rest), 'and')} are newer than this knowledge"
    return f"{said}: known unfixed defects are assumed to remain"


def _summary(report: Report) -> str:
    if all(audit.kind is None for audit in report.audits):
        return "nothing could be read"
    if not any(audit.packages for audit in report.audits):
        return "nothing was checked"
    found = [advised.finding for audit in report.audits for advised in audit.findings]
    levels = Counter(finding.issue.level for finding in found if finding.status == "affected")
    unseen = sum(1 for finding in found if finding.status == "conditional")
    gaps = sum(1 for audit in report.audits for skipped in audit.skipped if skipped.gap)
    parts = [counted(levels[level], level) for level in reversed(LEVELS) if levels[level]]
    parts = parts or ["no other known defect found" if report.suppressed else "no known defect found"]
    if unseen:
        parts.append(f"{unseen} depending on what was not seen")
    if gaps:
        parts.append(f"{gaps} not checked")
    if len(report.audits) >= _MANY:
        parts[-1] += f", in {counted(len(report.audits), 'environment')}"
    return f"{', '.join(parts)} ({sources_text(report.records, report.date, report.sources)})"
