"""A code quality report of GitLab: what is affected, each on its line.

GitLab needs a line; of a finding about a whole file it is the first.
"""

from __future__ import annotations

import json
from typing import TextIO

from gradcompat.model.report import Report
from gradcompat.renderers.places import Places
from gradcompat.renderers.results import message, plain, results

_SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def render(report: Report, out: TextIO) -> None:
    """Write the list."""
    places = Places()
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
        if result.counts
    ]
    out.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
