"""Breaks of code beside records that speak of the same symbol: told once, and never not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

import gradcompat
from gradcompat.model.issue import VersionRemedy

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


CONFIG = "model_name_or_path: m\nstage: sft\ndataset: d\ntemplate: t\nlearning_rate: 1e-4\n"


@pytest.mark.parametrize(
    ("pin", "key", "found"),
    [
        ("transformers==5.3.0", "evaluation_strategy: steps", ["evaluation_strategy"]),
        ("transformers==5.3.0", "eval_strategy: steps", []),
        ("transformers==4.49.0", "evaluation_strategy: steps", []),
        ("transformers==5.3.0", "of_a_fork: steps", []),
        ("transformers==4.40.0", "eval_strategy: steps", ["eval_strategy"]),
    ],
)
def test_a_key_of_a_llamafactory_config_that_the_release_does_not_take(
    tmp_path: Path, pin: str, key: str, found: list[str]
) -> None:
    (tmp_path / "requirements.txt").write_text(f"torch==2.6.0\n{pin}\n")
    (tmp_path / "sft.yaml").write_text(f"{CONFIG}{key}\n")
    report = gradcompat.check(tmp_path)
    breaks = [one.finding for one in report.findings if one.finding.issue.id.startswith("code:")]
    prefix = "code:transformers:Seq2SeqTrainingArguments:"
    assert [(one.issue.id, one.status) for one in breaks] == [(prefix + name, "affected") for name in found]
    assert all(one.because[0].sentence.startswith("the config gives") for one in breaks)
    assert all(one.location is not None and one.location.line == 6 for one in breaks)


def test_a_keyword_that_another_package_took_away_leads_to_no_release_without_the_class(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\ntransformers==5.23.0\ntrl==0.29.0\n")
    (tmp_path / "train.py").write_text(IMPORTS + "SFTConfig(output_dir='o', logging_dir='logs', max_length=8)\n")
    report = gradcompat.check(tmp_path)
    told = "code:trl:SFTConfig:logging_dir"
    (issue,) = (one.finding.issue for one in report.findings if one.finding.issue.id == told)
    assert issue.summary.endswith("no release has it beside the other packages as they are")
    assert not any(isinstance(remedy, VersionRemedy) and remedy.kind == "downgrade" for remedy in issue.remedies)


def test_no_fix_leads_to_a_release_that_may_have_the_name(tmp_path: Path) -> None:
    """transformers serves old paths of modules by a finder since 5.21.0: which ones, its source does not show."""
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\ntransformers==5.5.4\n")
    (tmp_path / "train.py").write_text(
        "import transformers\nfrom transformers.deepspeed import is_deepspeed_zero3_enabled\n"
        "transformers.Trainer(model=is_deepspeed_zero3_enabled()).train()\n"
    )
    (broken,) = (one for one in gradcompat.check(tmp_path).findings if one.finding.issue.id.startswith("code:"))
    remedies = [one for one in broken.finding.issue.remedies if isinstance(one, VersionRemedy)]
    assert any(Version("4.45.2") in one.versions for one in remedies)
    assert not any(Version("5.21.0") in one.versions for one in remedies)
    assert broken.advice is not None
    assert broken.advice.target != "5.21.0"
