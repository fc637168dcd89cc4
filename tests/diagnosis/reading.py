"""Short ways to read logs in tests."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gradcompat.diagnosis.lines import Block
from gradcompat.diagnosis.log import Log, read_log
from gradcompat.diagnosis.stretches import Stretch
from gradcompat.diagnosis.symptoms import patterns_of
from gradcompat.model.issue import Issue
from tests.building import issue, versions


class Collected:
    """The metrics of a log with their lines, however they come."""

    def __init__(self) -> None:
        self.found: list[tuple[dict[str, float], int]] = []
        self.stretches: list[int] = []

    def add(self, values: Mapping[str, float], line: int) -> None:
        self.found.append((dict(values), line))

    def add_stretch(self, stretch: Stretch) -> None:
        self.found += stretch.values()
        self.stretches.append(len(stretch))


def with_symptoms(record: Issue, *symptoms: str) -> Issue:
    return replace(record, symptoms=symptoms)


def read(data: bytes | str, *symptoms: str) -> tuple[Log, list[tuple[dict[str, float], int]]]:
    """What is seen of these symptoms, and the metrics with their lines."""
    log, metrics = Log.of("x.log"), Collected()
    patterns, _ = patterns_of([with_symptoms(issue((versions("torch"),)), *symptoms)])
    raw = data.encode() if isinstance(data, str) else data
    read_log(io.BytesIO(raw), log, patterns, metrics)
    return log, metrics.found


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
