"""Workflow commands of GitHub Actions: each finding becomes an annotation of its line.

What is affected is one, what was not checked, and as a notice what could apply and is shown by itself; the questions
that would decide more are one notice. GitHub shows ten of a kind for a step, so that no notice takes the place of an
error. What is dormant is none. What is suppressed is none; a waiver that does nothing any more is one, in the file
where it stands.
"""

from __future__ import annotations

from typing import TextIO

from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.environment import Location, Package
from gradcompat.model.issue import LEVELS
from gradcompat.model.report import Report
from gradcompat.renderers.results import Result, asides, gap_text, gaps, message, plain, remarks, results

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, out: TextIO) -> None:
    """Write one line for each, the worst first."""
    places = RepositoryPaths()
    found = [
        result
        for result in results(report, places)
        if result.counts or (result.shown and result.state == "conditional")
    ]
    found.sort(key=_order)
    for result in found:
        issue = result.advised.finding.issue
        command = _COMMANDS[issue.level] if result.state == "affected" else "notice"
        where = _where(result.location, result.pin, places)
        out.write(_line(command, where, f"{issue.id} {plain(issue.summary)}", message(result)))
    if questions := asides(report).questions:
        where = _where(Location(path=report.audits[0].source), None, places)
        out.write(_line("notice", where, "to know more, state with --set", "\n".join(questions)))
    for remark, location in remarks(report, places):
        command = _COMMANDS[remark.level]
        where, title = _where(location, None, places), plain(remark.kind.replace("-", " "))
        out.write(_line(command, where, title, plain(remark.text)))
    for audit, skipped in gaps(report):
        where = _where(skipped.location or Location(path=audit.source), None, places)
        out.write(_line("warning", where, "not checked", gap_text(skipped)))


def _order(result: Result) -> tuple[bool, int]:
    """What is affected by its level, then what could apply as the report has it."""
    affected = result.state == "affected"
    return not affected, -LEVELS.index(result.advised.finding.issue.level) if affected else 0


def _where(location: Location, package: Package | None, places: RepositoryPaths) -> dict[str, str | int | None]:
    start, end = (location.column, None) if package is None else places.columns(package)
    return {"file": plain(places.shown(location.path)), "line": location.line, "col": start, "endColumn": end}


def _line(command: str, where: dict[str, str | int | None], title: str, text: str) -> str:
    properties = [f"{key}={_property(str(value))}" for key, value in where.items() if value is not None]
    return f"::{command} {','.join([*properties, f'title={_property(title)}'])}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
