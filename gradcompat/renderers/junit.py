"""JUnit XML: an environment is a suite, a finding a case that fails, is skipped or passes with a remark.

What makes the exit status 1 fails. What could apply or was not checked is skipped, and a file that could not be read is
an error. An environment without any of these is one case that passes. What is said of ranges is the output of its
suite, and the questions that would decide more are the output of a last one. What is dormant is a case that passes
under ``--all``, and left out otherwise. What is suppressed is skipped. A waiver that does nothing any more is a case of
its own, which fails where the project says so.
"""

from __future__ import annotations

from typing import TextIO
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.environment import Location
from gradcompat.model.report import Audit, Remark, Report
from gradcompat.renderers.results import (
    Result,
    asides,
    by_audit,
    entries,
    gap_text,
    headline,
    message,
    plain,
    range_texts,
    remarks,
    suppression,
)


def render(report: Report, out: TextIO) -> None:
    """Write all suites."""
    places = RepositoryPaths()
    suites = Element("testsuites", name="gradcompat")
    for audit, found in by_audit(report, places, suppressed=report.show_suppressed is not False):
        suites.append(_suite(audit, [hit for hit in found if hit.shown or hit.fails], places))
    if questions := asides(report).questions:
        suite = _suite_of("to know more, state with --set", 0, 0, 0, 0)
        SubElement(suite, "system-out").text = "\n".join(questions)
        suites.append(suite)
    suites.extend(_remark(remark, location) for remark, location in remarks(report, places))
    indent(suites)
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, "unicode")}\n')


def _suite(audit: Audit, found: list[Result], places: RepositoryPaths) -> Element:
    cases = [_finding(result, places) for result in found]
    cases += [
        ("skipped" if audit.kind is not None else "error", gap_text(skipped), gap_text(skipped), "")
        for skipped in audit.skipped
        if skipped.gap
    ]
    open_ones = any(finding.finding.status == "conditional" and not finding.refuted for finding in audit.findings)
    cases = cases or [("", f"no known defect {'is sure to apply' if open_ones else 'found'}", "", "")]
    counts = {kind: sum(1 for case in cases if case[0] == kind) for kind in ("failure", "error", "skipped")}
    name = plain(places.shown(audit.source))
    suite = _suite_of(name, len(cases), counts["failure"], counts["error"], counts["skipped"])
    for kind, title, short, text in cases:
        case = SubElement(suite, "testcase", classname=name, name=plain(title))
        if kind:
            SubElement(case, kind, message=plain(short)).text = text if kind != "skipped" else None
        elif text:
            SubElement(case, "system-out").text = text
    if lines := range_texts(audit):
        SubElement(suite, "system-out").text = "\n".join(lines)
    return suite


def _suite_of(name: str, tests: int, failures: int, errors: int, skipped: int) -> Element:
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    return Element("testsuite", {"name": name, **{key: str(count) for key, count in counts.items()}})


def _remark(remark: Remark, location: Location) -> Element:
    name, wrong = plain(location.path), remark.level == "error"
    suite = _suite_of(name, 1, int(wrong), 0, 0)
    case = SubElement(suite, "testcase", classname=name, name=plain(remark.kind.replace("-", " ")))
    text = plain(f"{location}: {remark.text}")
    if wrong:
        SubElement(case, "failure", message=text)
    else:
        SubElement(case, "system-out").text = text
    return suite


def _finding(result: Result, places: RepositoryPaths) -> tuple[str, str, str, str]:
    """What a finding is, its name, and what is said of it in short and at length."""
    if said := suppression(result, places):
        return "skipped", f"{result.advised.finding.issue.id} {entries(result)}", f"suppressed: {said}", ""
    kind = "failure" if result.fails else "skipped" if result.state == "conditional" else ""
    title = f"{result.advised.finding.issue.id} {entries(result)}"
    where = Location(path=places.shown(result.location.path), line=result.location.line)
    return (
        kind,
        title,
        message(result) if kind == "skipped" else headline(result),
        f"{plain(str(where))}: {message(result)}",
    )
