"""Whether a sampler draws as many samples as its data have."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.whole_samplers import first_of_all


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("RandomSampler(data, num_samples=len(data))", True),
        ("RandomSampler(data, False, len(data))", True),
        ("RandomSampler(data_source=self.data, num_samples=len(self.data))", True),
        ("RandomSampler(data, num_samples=len(others))", False),
        ("RandomSampler(data, num_samples=len(data) // 2)", False),
        ("RandomSampler(data)", False),
        ("RandomSampler(data, num_samples=len(data)), RandomSampler(data, num_samples=100)", False),
        ("RandomSampler(data, num_samples=len(data)), RandomSampler(others)", True),
    ],
)
def test_how_many_are_drawn(lines: str, expected: bool) -> None:
    calls = [node for node in ast.walk(ast.parse(lines)) if getattr(getattr(node, "func", None), "id", "") != "len"]
    assert (first_of_all(node for node in calls if isinstance(node, ast.Call)) is not None) is expected
