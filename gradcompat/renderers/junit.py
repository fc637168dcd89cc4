"""JUnit XML: an environment is a suite, a finding a case that fails, is skipped or passes with a remark.

What makes the exit status 1 fails. What is conditional or was not checked is skipped, and a file that could not be read
is an error. An environment without any of these is one case that passes. What is suppressed is skipped. A waiver that
does nothing any more is a case of its own, which fails where the project says so.
"""

from __future__ import annotations

from html import escape
from typing import TextIO

from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.environment import Location
from gradcompat.model.report import Audit, Remark, Report
from gradcompat.renderers.results import (
    Result,
    by_audit,
    entries,
    gap_text,
    headline,
    message,
    plain,
    remarks,
    suppression,
)

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def render(report: Report, out: TextIO) -> None:
    """Write all suites."""
    out.write(f'{_HEAD}<testsuites name="gradcompat">\n')
    places = RepositoryPaths()
    for audit, found in by_audit(report, places, suppressed=report.show_suppressed is not False):
        _suite(audit, found, places, out)
    for remark, location in remarks(report, places):
        _remark(remark, location, out)
    out.write("</testsuites>\n")


def _suite(audit: Audit, found: list[Result], places: RepositoryPaths, out: TextIO) -> None:
    cases = [_finding(result, places) for result in found]
    cases += [
        ("skipped" if audit.kind is not None else "error", gap_text(one), gap_text(one), "")
        for one in audit.skipped
        if one.gap
    ]
    cases = cases or [("", "no known defect found", "", "")]
    counts = {kind: sum(1 for case in cases if case[0] == kind) for kind in ("failure", "error", "skipped")}
    numbers = f'tests="{len(cases)}" failures="{counts["failure"]}" errors="{counts["error"]}"'
    name = _attribute(places.shown(audit.source))
    out.write(f'  <testsuite name="{name}" {numbers} skipped="{counts["skipped"]}">\n')
    for kind, title, short, text in cases:
        out.write(f'    <testcase classname="{name}" name="{_attribute(title)}"')
        if not kind:
            out.write(f"><system-out>{escape(text)}</system-out></testcase>\n" if text else "/>\n")
        elif kind == "skipped":
            out.write(f'><skipped message="{_attribute(short)}"/></testcase>\n')
        else:
            out.write(f'><{kind} message="{_attribute(short)}">{escape(text)}</{kind}></testcase>\n')
    out.write("  </testsuite>\n")


def _remark(remark: Remark, location: Location, out: TextIO) -> None:
    name, title = _attribute(location.path), _attribute(remark.kind.replace("-", " "))
    text = escape(plain(f"{location}: {remark.text}"))
    wrong = remark.level == "error"
    out.write(f'  <testsuite name="{name}" tests="1" failures="{int(wrong)}" errors="0" skipped="0">\n')
    out.write(f'    <testcase classname="{name}" name="{title}">')
    out.write(f'<failure message="{text}"/>' if wrong else f"<system-out>{text}</system-out>")
    out.write("</testcase>\n  </testsuite>\n")


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


def _attribute(text: str) -> str:
    return escape(plain(text))
