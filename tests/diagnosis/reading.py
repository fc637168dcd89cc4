"""Short ways to read logs in tests."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

from gradcompat.diagnosis.lines import Block
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


def segments(block: Block) -> Iterator[tuple[int, bytes]]:
    r"""Each segment with the number of its line; what follows the last line end is one only if it holds something."""
    lines = block.data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=block.first):
        for segment in line.split(b"\r"):
            yield number, segment
