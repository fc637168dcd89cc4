"""A code quality report of GitLab: what is affected, and as ``info`` what could apply and is shown by itself.

What is dormant is not in it, nor are the questions that would decide more. GitLab needs a line; of a finding about a
whole file it is the first. What is suppressed is not in it, and a waiver that does nothing any more is.
"""

from __future__ import annotations

from typing import TextIO

from gradcompat.audit.fingerprints import digest
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.report import Report
from gradcompat.renderers.json_output import json_output
from gradcompat.renderers.results import message, plain, remarks, results

_SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def render(report: Report, out: TextIO) -> None:
    """Write the list."""
    places = RepositoryPaths()
    data = [
        {
            "description": message(result),
            "check_name": result.advised.finding.issue.id,
            "fingerprint": result.fingerprint,
            "severity": _SEVERITIES[result.advised.finding.issue.level] if result.state == "affected" else "info",
            "location": {
                "path": plain(places.shown(result.location.path)),
                "lines": {"begin": result.location.line or 1},
            },
        }
        for result in results(report, places)
        if result.counts or (result.shown and result.state == "conditional")
    ]
    data += [
        {
            "description": plain(remark.text),
            "check_name": remark.kind,
            "fingerprint": digest(remark.kind, remark.text, location.path),
            "severity": _SEVERITIES[remark.level],
            "location": {"path": plain(location.path), "lines": {"begin": location.line or 1}},
        }
        for remark, location in remarks(report, places)
        if remark.level != "note"
    ]
    out.write(json_output(data))
