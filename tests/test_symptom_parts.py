"""Symptoms of several lines, and those that nothing in a log can match."""

from __future__ import annotations

import json

import pytest

from gradcompat.knowledge.load import COMPILED
from gradcompat.symptom_parts import parts, reach, unmatchable


def test_parts() -> None:
    assert parts(r"a\.py[\s\S]{0,400}b[\s\S]{0,20}?c") == (r"a\.py", "b", "c")
    assert reach(r"a\.py[\s\S]{0,400}b[\s\S]{0,20}?c") == 420
    assert (parts("one line"), reach("one line")) == (("one line",), 0)


@pytest.mark.parametrize(
    "symptom", ["one|other", r"a[^\n]*b", r"frame\.py[\s\S]{0,400}(?:one|other) message", r"a\|b[\s\S]{0,9}[|]c"]
)
def test_what_a_log_can_show(symptom: str) -> None:
    assert unmatchable(symptom) is None


@pytest.mark.parametrize(
    ("symptom", "reason"),
    [
        (r"a\nb", "a log is read line by line"),
        (r"a[\s\S]*b", "a log is read line by line"),
        ("(?s)a.*b", "a log is read line by line"),
        (r"b(?=[\s\S]*a)", "a log is read line by line"),
        (r"a[\s\S]{0,2000}b", "2,000 letters apart"),
        (r"(a[\s\S]{0,20}b)?c", "stands in a group"),
        (r"a|b[\s\S]{0,20}c", "stands beside"),
    ],
)
def test_what_no_log_can_show(symptom: str, reason: str) -> None:
    assert reason in (unmatchable(symptom) or "")


def test_every_symptom_of_the_records_can_match() -> None:
    records = json.loads(COMPILED.read_text("utf-8"))["issues"]
    symptoms = {symptom for record in records for symptom in record["symptoms"]}
    assert [symptom for symptom in symptoms if unmatchable(symptom)] == []
    assert any(reach(symptom) for symptom in symptoms)
