"""A report as JSON: the contract that other tools build on. Keys may be added; none is taken away."""

from __future__ import annotations

from typing import Any, TextIO

from gradcompat.audit.fingerprints import fingerprints
from gradcompat.audit.report_parts import likelihood, parts_of
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.messages import moves_text
from gradcompat.model.finding import Advice
from gradcompat.model.issue import CodeRemedy, InstallRemedy, Remedy, SettingRemedy, VersionRemedy
from gradcompat.model.knowledge_source import KnowledgeSource
from gradcompat.model.report import SCHEMA_VERSION, Audit, Report, ReportedFinding, Suppression
from gradcompat.renderers.json_output import json_pieces, place_data, questions_data
from gradcompat.renderers.probe_json import result_data


def render(report: Report, out: TextIO) -> None:
    """Write the report as one JSON object."""
    marks = fingerprints(report.audits, RepositoryPaths())
    parts = parts_of(report.findings, everything=report.show_all)
    told = {id(finding) for finding in (*parts.affected, *parts.informational, *parts.possible)}
    data = {
        "schema_version": SCHEMA_VERSION,
        "knowledge": {
            "records": report.records,
            "digest": report.digest,
            "date": report.date,
            "sources": [_source(source) for source in report.sources],
        },
        "environments": map(_environment, report.audits),
        "contexts": list(report.contexts),
        "findings": (
            {**_finding(advised, marks[id(advised)]), "shown": id(advised) in told}
            for audit in report.audits
            for advised in (*audit.findings, *audit.suppressed)
        ),
        "remarks": [
            {"kind": remark.kind, "level": remark.level, "text": remark.text, **place_data(remark.location)}
            for remark in report.remarks
        ],
        "questions": questions_data(parts),
        "exit_status": report.exit_status,
    }
    out.writelines(json_pieces(data))


def _source(source: KnowledgeSource) -> dict[str, Any]:
    return {
        "kind": source.kind,
        "name": source.name,
        "records": source.records,
        "digest": source.digest,
        "date": source.date,
    }


def _environment(audit: Audit) -> dict[str, Any]:
    return {
        "source": audit.source,
        "kind": audit.kind,
        "packages": audit.packages,
        "contexts": list(audit.contexts),
        "skipped": [
            {
                "what": skipped.what,
                "reason": skipped.reason,
                "gap": skipped.gap,
                "range": skipped.range,
                **place_data(skipped.location),
            }
            for skipped in audit.skipped
        ],
        "questions": questions_data(parts_of(audit.findings)),
        "newer": [
            {
                "name": newer.name,
                "version": newer.version,
                "horizon": newer.horizon,
                "date": newer.date,
                "assumed": list(newer.assumed),
            }
            for newer in audit.newer
        ],
        **(_replaced(audit) if audit.replaced else {}),
    }


def _replaced(audit: Audit) -> dict[str, Any]:
    """What was judged in place of what is pinned, and what that cures."""
    return {
        "with": [
            {
                "name": replaced.package,
                "version_from": replaced.version_from,
                "version_to": replaced.version_to,
                "path": replaced.location.path,
                "line": replaced.location.line,
            }
            for replaced in audit.replaced
        ],
        "cured": [_cured(advised) for advised in audit.cured],
    }


def _cured(advised: ReportedFinding) -> dict[str, Any]:
    """A finding of the pinned versions that the others do not have."""
    return {
        "id": advised.finding.issue.id,
        "level": advised.finding.issue.level,
        "summary": advised.finding.issue.summary,
        "packages": [
            {
                "name": package.name,
                "version": package.version,
                "path": package.location.path,
                "line": package.location.line,
            }
            for package in advised.finding.packages
        ],
    }


def _finding(advised: ReportedFinding, fingerprint: str) -> dict[str, Any]:
    finding, issue = advised.finding, advised.finding.issue
    return {
        "id": issue.id,
        "status": finding.status,
        "level": issue.level,
        "summary": issue.summary,
        "silent": issue.silent,
        "informational": issue.informational,
        "categories": list(issue.categories),
        "range_basis": issue.range_basis,
        "bounds": [
            {"package": bound.package, "bound": str(bound.versions), "basis": bound.basis} for bound in issue.bounds
        ],
        "source": finding.source,
        "packages": [
            {
                "name": package.name,
                "version": package.version,
                "specifier": package.specifier,
                "marker": package.marker,
                "forks": list(package.forks),
                **place_data(package.location),
                "column": package.location.column,
            }
            for package in finding.packages
        ],
        "because": [{"sentence": reason.sentence, **place_data(reason.location)} for reason in finding.because],
        "contexts": list(finding.contexts),
        "unknown": list(dict.fromkeys(unknown.key for group in finding.unknown for unknown in group)),
        "conditions": [[unknown.sentence for unknown in group] for group in finding.unknown],
        "plain": [[unknown.plain or unknown.sentence for unknown in group] for group in finding.unknown],
        "likelihood": likelihood(finding),
        "assumed": [
            {"key": assumption.key, "sentence": assumption.sentence, **place_data(assumption.location)}
            for assumption in finding.assumed
        ],
        "dormant": [feature for feature in finding.dormant if feature],
        "probe": _probe(advised),
        "suppressed": None if advised.suppressed is None else _suppressed(advised.suppressed),
        "fingerprint": fingerprint,
        "references": [{"type": reference.type, "url": reference.url} for reference in issue.references],
        "remedies": [_remedy(remedy) for remedy in issue.remedies],
        "advice": None if advised.advice is None else _advice(advised.advice),
    }


def _suppressed(suppression: Suppression) -> dict[str, Any]:
    return {
        "kind": suppression.kind,
        "reason": suppression.reason,
        **place_data(suppression.location),
        "until": suppression.until,
    }


def _probe(advised: ReportedFinding) -> dict[str, Any] | None:
    """The verdict with the measurements behind it; None where nothing was measured."""
    if not advised.probed:
        return None
    results = [result_data(result) for result in advised.probed]
    return {"verdict": advised.verdict, "refuted": advised.refuted, "results": results}


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        **_remedy(advice.remedy),
        **({} if advice.package is None else {"package": advice.package}),
        "current": advice.current,
        "target": advice.target,
        "clears": advice.clears,
        "introduces": list(advice.introduces),
        "beside": moves_text(advice.changes)[1:],
        **place_data(advice.location),
        "text": advice.line,
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    match remedy:
        case VersionRemedy(kind=kind, package=package, versions=versions, note=note):
            return {"kind": kind, "package": package, "versions": str(versions), "note": note}
        case SettingRemedy(key=key, value=value, note=note):
            return {"kind": "setting", "key": key, "value": value, "note": note}
        case CodeRemedy(text=text):
            return {"kind": "code", "text": text}
        case InstallRemedy(text=text):
            return {"kind": "install", "text": text}
