"""Short ways to read logs in tests."""

from __future__ import annotations

import io
from dataclasses import replace

from gradcompat.diagnosis.log import Log, read_log
from gradcompat.diagnosis.symptoms import patterns_of
from gradcompat.model.issue import Issue
from tests.building import issue, versions


def with_symptoms(record: Issue, *symptoms: str) -> Issue:
    return replace(record, symptoms=symptoms)


def read(data: bytes | str, *symptoms: str) -> tuple[Log, list[tuple[dict[str, float], int]]]:
    """What is seen of these symptoms, and the metrics with their lines."""
    log, metrics = Log.of("x.log"), []
    patterns, _ = patterns_of([with_symptoms(issue((versions("torch"),)), *symptoms)])
    raw = data.encode() if isinstance(data, str) else data
    read_log(io.BytesIO(raw), log, patterns, lambda values, line: metrics.append((dict(values), line)))
    return log, metrics


def places(log: Log) -> dict[str, list[int]]:
    return {text: sorted(hit.places) for text, hit in log.hits.items()}
