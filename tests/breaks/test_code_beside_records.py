"""Breaks of code beside records that speak of the same symbol: told once, and never not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat

IMPORTS = "from dataclasses import dataclass\nfrom transformers import TrainingArguments\nfrom trl import SFTConfig\n"


def breaks_in(folder: Path, code: str) -> list[str]:
    (folder / "requirements.txt").write_text("torch==2.13.0\ntransformers==5.3.0\ntrl==0.29.0\n")
    (folder / "train.py").write_text(IMPORTS + code)
    report = gradcompat.check(folder)
    return [
        one.finding.issue.id
        for one in report.findings
        if one.finding.issue.id.startswith("code:") and one.finding.status == "affected"
    ]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("TrainingArguments(output_dir='o', evaluation_strategy='steps')\n", "TrainingArguments"),
        ("given = dict(evaluation_strategy='steps')\nTrainingArguments('o', **given)\n", "TrainingArguments"),
        (
            "@dataclass\nclass Ours(TrainingArguments):\n    more: int = 1\nOurs('o', evaluation_strategy='steps')\n",
            "TrainingArguments",
        ),
    ],
)
def test_a_record_of_the_class_does_not_tell_of_its_keyword(tmp_path: Path, code: str, found: str) -> None:
    assert breaks_in(tmp_path, code) == [f"code:transformers:{found}:evaluation_strategy"]


def test_a_keyword_that_the_class_still_has(tmp_path: Path) -> None:
    assert breaks_in(tmp_path, "TrainingArguments(output_dir='o', eval_strategy='steps')\n") == []
