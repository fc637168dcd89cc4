"""A diagnosis as JSON, for other programs. Keys may be added; none is taken away."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TextIO

from gradcompat.model.diagnosis import DiagnosisReport, Seen
from gradcompat.renderers.json_output import json_output, place_data, skipped_data

SCHEMA_VERSION = 1


def render(report: DiagnosisReport, out: TextIO) -> None:
    """Write the report as one JSON object."""
    data = {
        "schema_version": SCHEMA_VERSION,
        "knowledge": {
            "records": report.records,
            "date": report.date,
            "sources": [asdict(source) for source in report.sources],
        },
        "files": [
            {"path": file.path, "kind": file.kind, "lines": file.lines, "steps": file.steps} for file in report.files
        ],
        "versions": [_seen(seen) for seen in report.versions],
        "settings": [_seen(seen) for seen in report.settings],
        "diagnoses": [
            {
                "title": diagnosis.title,
                "issue": diagnosis.issue,
                "score": diagnosis.score,
                "harmless": diagnosis.harmless,
                "unused": diagnosis.unused,
                "because": [_seen(seen) for seen in diagnosis.because],
                "against": list(diagnosis.against),
                "settles": list(diagnosis.settles),
                "assumed": [
                    {"key": assumption.key, "sentence": assumption.sentence, **place_data(assumption.location)}
                    for assumption in diagnosis.assumed
                ],
            }
            for diagnosis in report.diagnoses
        ],
        "ruled_out": [
            {"issue": ruled_out.issue, "title": ruled_out.title, "sentence": ruled_out.sentence}
            for ruled_out in report.ruled_out
        ],
        "unexplained": [_seen(seen) for seen in report.unexplained],
        "skipped": [skipped_data(skipped) for skipped in report.skipped],
        "exit_status": report.exit_status,
    }
    out.write(json_output(data))


def _seen(seen: Seen) -> dict[str, Any]:
    return {"sentence": seen.sentence, "text": seen.text, **place_data(seen.location)}
