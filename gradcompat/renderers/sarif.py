"""SARIF 2.1.0, for code scanning and for editors.

GitHub makes an alert of every result, whatever its ``kind``. So only what is affected is a result. What is merely
possible, worth knowing or not checked is a notification of the run, and so is each question that would decide more;
under ``--strict`` what is possible is a result of the kind ``review``, too. What is dormant is a notification of the
level ``none`` under ``--all``, and left out otherwise. Columns count characters.

What is suppressed is a result with a ``suppressions``; GitHub does not look at that, and needs a file without.
"""

from __future__ import annotations

from typing import Any, TextIO

from gradcompat._version import __version__
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.messages import remedy_text
from gradcompat.model.environment import Location, Package
from gradcompat.model.issue import Issue
from gradcompat.model.report import LineEdit, Report
from gradcompat.renderers.json_output import json_output
from gradcompat.renderers.results import (
    Result,
    asides,
    fix,
    gap_text,
    gaps,
    message,
    paragraphs,
    plain,
    range_texts,
    results,
    suppression,
)

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SEVERITY = {"error": "error", "warning": "warning", "note": "recommendation"}
_DESCRIPTION = 1000  # characters; GitHub takes 1,024
_RELATED = 20  # places beside the first
_NOTIFICATIONS = {
    "not-checked": "Something was not checked that could hide a defect",
    "conditional": "A known defect could apply, depending on a fact that no file shows",
    "informational": "A behaviour that surprises and is no defect",
    "question": "A fact that would decide more findings",
    "range": "A package of which only a range is known",
    "dormant": "A known defect of a feature that is presumed not to be used",
}


def render(report: Report, out: TextIO) -> None:
    """Write one run."""
    places = RepositoryPaths()
    every = results(report, places, suppressed=report.show_suppressed is not False)
    found = [result for result in every if _is_told(result, report)]
    issues = {result.advised.finding.issue.id: result.advised.finding.issue for result in found}
    index = {identifier: number for number, identifier in enumerate(issues)}
    notifications = [
        _gap(skipped.location, gap_text(skipped), audit.source, audit.kind is None, places)
        for audit, skipped in gaps(report)
    ]
    notifications += [_note(result, index, places) for result in found if not _is_result(result, report)]
    notifications += [_aside("question", text) for text in asides(report).questions]
    for audit in report.audits:
        where = {"locations": [_place(Location(path=audit.source), None, places)]}
        notifications += [{**_aside("range", text), **where} for text in range_texts(audit)]
    run = {
        "tool": {
            "driver": {
                "name": "gradcompat",
                "version": __version__,
                "rules": [_rule(issue) for issue in issues.values()],
                "notifications": [
                    {"id": identifier, "shortDescription": {"text": text}}
                    for identifier, text in {**_NOTIFICATIONS, **_remarked(report)}.items()
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": report.exit_status != 2,
                "exitCode": report.exit_status,
                "toolExecutionNotifications": notifications,
                **_configuration(report, places),
            }
        ],
        "results": [_result(result, index, places) for result in found if _is_result(result, report)],
    }
    out.write(json_output({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}))


def _rule(issue: Issue) -> dict[str, Any]:
    summary, details = plain(issue.summary), paragraphs(issue.details)
    remedies = [paragraphs(remedy_text(remedy)) for remedy in issue.remedies]
    urls = [plain(reference.url) for reference in issue.references]
    parts = [details, *(f"Remedy: {text}" for text in remedies), *(f"See {url}" for url in urls)]
    short = details if len(details) <= _DESCRIPTION else f"{details[: _DESCRIPTION - 1]}…"
    return {
        "id": issue.id,
        "name": "".join(word.capitalize() for word in issue.categories[0].split("-")) if issue.categories else "Defect",
        "shortDescription": {"text": _text(summary)},
        "fullDescription": {"text": _text(short or summary)},
        "help": {"text": _text("\n\n".join(part for part in parts if part) or summary)},
        **({"helpUri": urls[0]} if urls else {}),
        "defaultConfiguration": {"level": issue.level},
        "properties": {
            "tags": [*map(plain, issue.categories), *(["silent"] if issue.silent else [])],
            "problem.severity": _SEVERITY[issue.level],
        },
    }


def _result(result: Result, index: dict[str, int], places: RepositoryPaths) -> dict[str, Any]:
    issue = result.advised.finding.issue
    affected = result.state == "affected"
    data: dict[str, Any] = {
        "ruleId": issue.id,
        "ruleIndex": index[issue.id],
        "kind": "fail" if affected else "review",
        # "If kind has any value other than fail, level SHALL have the value none."
        "level": issue.level if affected else "none",
        "message": {"text": _text(message(result))},
        "locations": [_place(result.location, result.pin, places)],
        # GitHub looks at the first alone.
        "partialFingerprints": {
            "primaryLocationLineHash": f"{result.fingerprint}:1",
            "gradcompat/v1": result.fingerprint,
        },
        "suppressions": _suppressions(result, places),
    }
    if related := _related(result, places):
        data["relatedLocations"] = related
    if result.advised.edits:
        data["fixes"] = [_fix(result, places)]
    return data


def _is_told(result: Result, report: Report) -> bool:
    """Is there a result or a notification of it?"""
    if result.state in ("not_affected", "refuted"):
        return False
    return result.shown or _is_result(result, report)


def _is_result(result: Result, report: Report) -> bool:
    """What is merely possible is one where it counts, suppressed or not."""
    return result.state == "affected" or (report.strict and result.state == "conditional")


def _suppressions(result: Result, places: RepositoryPaths) -> list[dict[str, Any]]:
    said = result.advised.suppressed
    if said is None:
        return []
    return [
        {
            "kind": "external",
            "status": "accepted",
            "justification": plain(said.reason),
            "location": _place(said.location, None, places),
            "properties": {"kind": said.kind, **({} if said.until is None else {"until": plain(said.until)})},
        }
    ]


def _remarked(report: Report) -> dict[str, str]:
    """The kinds of remarks that are there, each with what it means."""
    return {remark.kind: f"About what is suppressed: {remark.kind.replace('-', ' ')}" for remark in report.remarks}


def _configuration(report: Report, places: RepositoryPaths) -> dict[str, Any]:
    """What there is to say of the waivers or the baseline."""
    notifications = [
        {
            "descriptor": {"id": remark.kind},
            "level": remark.level,
            "message": {"text": _text(plain(remark.text))},
            "locations": [_place(remark.location, None, places)],
        }
        for remark in report.remarks
    ]
    return {"toolConfigurationNotifications": notifications} if notifications else {}


def _related(result: Result, places: RepositoryPaths) -> list[dict[str, Any]]:
    """The other entries, and what else was seen to hold."""
    finding = result.advised.finding
    others: dict[tuple[str, int | None, int | None], tuple[Location, Package | None, str]] = {}
    for package in finding.packages:
        key = (package.location.path, package.location.line, package.location.column)
        others.setdefault(key, (package.location, package, f"{package.name} {package.version or ''}".rstrip()))
    for reason in finding.because:
        if reason.location is not None and reason.location.line is not None:
            key = (reason.location.path, reason.location.line, reason.location.column)
            others.setdefault(key, (reason.location, None, reason.sentence))
    others.pop((result.location.path, result.location.line, result.location.column), None)
    return [
        {"id": number, **_place(location, package, places), "message": {"text": _text(plain(text))}}
        for number, (location, package, text) in enumerate(list(others.values())[:_RELATED], start=1)
    ]


def _fix(result: Result, places: RepositoryPaths) -> dict[str, Any]:
    files: dict[str, list[LineEdit]] = {}
    for edit in result.advised.edits:
        files.setdefault(edit.location.path, []).append(edit)
    return {
        "description": {"text": _text(fix(result))},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path, places),
                "replacements": [
                    {
                        "deletedRegion": {
                            "startLine": edit.location.line,
                            "startColumn": edit.location.column,
                            "endColumn": edit.end_column,
                        },
                        "insertedContent": {"text": edit.text},
                    }
                    for edit in edits
                ],
            }
            for path, edits in files.items()
        ],
    }


def _note(result: Result, index: dict[str, int], places: RepositoryPaths) -> dict[str, Any]:
    issue = result.advised.finding.issue
    return {
        "descriptor": {"id": result.state},
        "associatedRule": {"id": issue.id, "index": index[issue.id]},
        "level": "none" if result.state == "dormant" else "note",
        "message": {"text": _text(" ".join(filter(None, (message(result), suppression(result, places)))))},
        "locations": [_place(result.location, result.pin, places)],
    }


def _aside(kind: str, text: str) -> dict[str, Any]:
    return {"descriptor": {"id": kind}, "level": "note", "message": {"text": _text(text)}}


def _gap(location: Location | None, text: str, source: str, nothing: bool, places: RepositoryPaths) -> dict[str, Any]:
    return {
        "descriptor": {"id": "not-checked"},
        "level": "error" if nothing else "warning",
        "message": {"text": _text(text)},
        "locations": [_place(location or Location(path=source), None, places)],
    }


def _place(location: Location, package: Package | None, places: RepositoryPaths) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(location.path, places)}
    start, end = (location.column, None) if package is None else places.columns(package)
    region = {"startLine": location.line, "startColumn": start, "endLine": location.line, "endColumn": end}
    if location.line is not None:
        place["region"] = {key: value for key, value in region.items() if value is not None}
    return {"physicalLocation": place}


def _artifact(path: str, places: RepositoryPaths) -> dict[str, str]:
    inside = places.relative(path) is not None
    return {"uri": places.uri(path), **({"uriBaseId": "%SRCROOT%"} if inside else {})}


def _text(text: str) -> str:
    """A message in which nothing is a placeholder or a link: braces are doubled, as the standard has it."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")
