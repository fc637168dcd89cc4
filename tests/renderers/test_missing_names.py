"""Names that one release lacks: those of one call are one block, with what happened to each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gradcompat
from tests.renderers.reports import rendered

HEAD = "from transformers import TrainingArguments\nfrom trl import DPOTrainer\n"
CALL = "DPOTrainer(None, None, args={args}, beta=0.1, tokenizer=None, max_length=512, max_prompt_length=256).train()\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\ntransformers==4.57.1\ntrl==0.24.0\n")
    (tmp_path / "train.py").write_text(HEAD + CALL.format(args="TrainingArguments('out', evaluation_strategy='no')"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def heads(told: str) -> list[str]:
    return [line.split(": ")[0] for line in told.splitlines() if line.startswith("error code:")]


def test_the_names_of_one_call_are_one_block(project: Path) -> None:
    report = gradcompat.check(project)
    told = rendered(report, "text")
    assert heads(told) == [
        "error code:transformers:TrainingArguments:evaluation_strategy",
        "error code:trl:DPOTrainer:beta",
    ]
    also = told.partition("  also      ")[2].partition("  because")[0]
    assert " ".join(also.split()) == (
        "max_length, max_prompt_length (removed in 0.13.0); "
        "tokenizer (renamed `processing_class` in 0.12.0 and removed in 0.16.0)"
    )
    assert told.splitlines()[-1].startswith("5 errors")


def test_each_has_a_block_where_everything_is_shown(project: Path) -> None:
    told = rendered(replace(gradcompat.check(project), show_all=True), "text")
    assert len(heads(told)) == 5
    assert "  also " not in told


def test_what_is_mended_otherwise_has_a_block_of_its_own(project: Path) -> None:
    # A later release has `vllm_mode`; `ref_model` of the same call was never there.
    (project / "requirements.txt").write_text("transformers==4.51.3\ntrl==0.17.0\n")
    (project / "train.py").write_text(
        "from trl import GRPOConfig, GRPOTrainer\n"
        "GRPOTrainer(None, None, GRPOConfig('out', vllm_mode='colocate', vllm_dreams=True)).train()\n"
    )
    assert heads(rendered(gradcompat.check(project), "text")) == [
        "error code:trl:GRPOConfig:vllm_dreams",
        "error code:trl:GRPOConfig:vllm_mode",
    ]
