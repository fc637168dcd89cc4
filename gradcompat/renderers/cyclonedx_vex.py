"""CycloneDX 1.6 VEX: environments as components, in them the packages of the findings, and an analysis of each finding.

What is suppressed is exploitable still: who accepts a defect has it. What was not checked is a property of the
document, since VEX has no statement for it.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any, TextIO

from gradcompat._version import __version__
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.environment import Package
from gradcompat.model.issue import VersionRemedy
from gradcompat.model.report import Audit, Report
from gradcompat.renderers.json_output import json_output
from gradcompat.renderers.results import Result, by_audit, gap_text, gaps, measured, paragraphs, plain
from gradcompat.renderers.sources_text import sources_text
from gradcompat.renderers.vex import STATUSES, accepted, action, environment_purl, explanation, purl, timestamp

_STATES = {"affected": "exploitable", "not_affected": "not_affected", "under_investigation": "in_triage"}
_VERSIONS = {"affected": "affected", "not_affected": "unaffected", "under_investigation": "unknown"}


def render(report: Report, out: TextIO) -> None:
    """Write one document."""
    places = RepositoryPaths()
    audits = [
        (audit, number, [result for result in found if result.state in STATUSES])
        for number, (audit, found) in enumerate(by_audit(report, places, suppressed=True), start=1)
    ]
    data: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(),
            "tools": {"components": [{"type": "application", "name": "gradcompat", "version": __version__}]},
            "properties": [
                {"name": "gradcompat:records", "value": _records(report)},
                *({"name": "gradcompat:not-checked", "value": gap_text(skipped)} for _, skipped in gaps(report)),
            ],
        },
        "components": [_environment(audit, number, found, places) for audit, number, found in audits],
        "vulnerabilities": [_vulnerability(result, number, places) for _, number, found in audits for result in found],
    }
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).digest()
    data = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.UUID(bytes=digest[:16], version=4).urn,
        **data,
    }
    out.write(json_output(data))


def _records(report: Report) -> str:
    if len(report.sources) > 1:
        return sources_text(report.records, report.date, report.sources)
    return f"{report.records} of {report.date}"


def _environment(audit: Audit, number: int, found: Sequence[Result], places: RepositoryPaths) -> dict[str, Any]:
    shown = places.shown(audit.source)
    packages = {_reference(package, number): package for result in found for package in result.advised.finding.packages}
    return {
        "type": "application",
        "bom-ref": _environment_reference(number),
        "name": plain(shown),
        "purl": environment_purl(shown),
        **({"components": [_package(one, reference) for reference, one in packages.items()]} if packages else {}),
    }


def _package(package: Package, reference: str) -> dict[str, Any]:
    version = {} if package.version is None else {"version": plain(package.version)}
    return {"type": "library", "bom-ref": reference, "name": plain(package.name), **version, "purl": purl(package)}


def _vulnerability(result: Result, number: int, places: RepositoryPaths) -> dict[str, Any]:
    issue = result.advised.finding.issue
    status = STATUSES[result.state]
    showed = measured(result) if result.state != "refuted" else ""
    detail = "; measured here: ".join(text for text in (explanation(result), showed) if text)
    detail = "; ".join(text for text in (detail, accepted(result, places)) if text)
    analysis: dict[str, Any] = {"state": _STATES[status], **({"detail": detail} if detail else {})}
    if result.state == "refuted":
        # The recipe brings the conditions along, so that what it does not see is not in the code.
        analysis["justification"] = "code_not_present"
    responses = ["will_not_fix"] if _for_good(result) else []
    if (advice := result.advised.advice) is not None:
        responses.append("update" if isinstance(advice.remedy, VersionRemedy) else "workaround_available")
    if responses:
        analysis["response"] = responses
    data: dict[str, Any] = {
        "bom-ref": f"{issue.id}-{result.fingerprint}",
        "id": issue.id,
        "source": {"name": "gradcompat"},
        "description": plain(issue.summary),
        "detail": paragraphs(issue.details),
        "advisories": [{"url": plain(reference.url)} for reference in issue.references],
        "analysis": analysis,
        "affects": _affects(result, number, _VERSIONS[status]),
    }
    if status == "affected":
        data["recommendation"] = action(result)
    return data


def _for_good(result: Result) -> bool:
    """Was it accepted without an end?"""
    said = result.advised.suppressed
    return said is not None and said.kind == "waiver" and said.until is None


def _affects(result: Result, number: int, status: str) -> list[dict[str, Any]]:
    packages = {_reference(package, number): package for package in result.advised.finding.packages}
    if not packages:
        return [{"ref": _environment_reference(number)}]
    return [
        {
            "ref": reference,
            **({} if one.version is None else {"versions": [{"version": plain(one.version), "status": status}]}),
        }
        for reference, one in packages.items()
    ]


def _environment_reference(number: int) -> str:
    return f"environment-{number}"


def _reference(package: Package, number: int) -> str:
    """Unique in the document: another environment may hold the same package with another outcome."""
    return f"{_environment_reference(number)}/{purl(package)}"
