"""What LLaMA-Factory, ms-swift and axolotl do to checkpointing where nobody asks; what is written comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.formats.document import Document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.any_config import scan

CHECKPOINTING, HOOK = "training.gradient_checkpointing", "training.enable_input_require_grads"
FACTORY = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: t\ndataset: d\nlearning_rate: 1\n"
SWIFT = "swift sft --model m --dataset d --train_type lora"


def presumed(name: str, text: str) -> dict[str, tuple[SettingValue | None, bool]]:
    return {
        one.key: (one.value, one.presumed)
        for one in scan(Document(name, text)).settings
        if one.key in (CHECKPOINTING, HOOK)
    }


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("sft.yaml", FACTORY, {CHECKPOINTING: (True, True), HOOK: (True, True)}),
        (
            "sft.yaml",
            FACTORY + "disable_gradient_checkpointing: true\n",
            {CHECKPOINTING: (False, False), HOOK: (True, True)},
        ),
        ("sft.sh", SWIFT, {CHECKPOINTING: (True, True), HOOK: (True, True)}),
        (
            "sft.sh",
            SWIFT + " --gradient_checkpointing false",
            {CHECKPOINTING: (False, False), HOOK: (True, True)},
        ),
        ("sft.sh", "llamafactory-cli train sft.yaml", {}),  # the config says it
        ("sft.sh", "llamafactory-cli train --stage sft --do_train", {CHECKPOINTING: (True, True), HOOK: (True, True)}),
        ("a.yaml", "base_model: m\nmicro_batch_size: 1\nsequence_len: 9\nadapter: lora\n", {HOOK: (True, True)}),
        ("train.sh", "torchrun train.py --gradient_accumulation_steps 2", {}),
    ],
)
def test_what_is_left_to_the_tool(name: str, text: str, expected: dict[str, tuple[bool, bool]]) -> None:
    assert presumed(name, text) == expected


def test_checkpointing_is_not_called_unused_where_the_tool_turns_it_on(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("llamafactory==0.9.2\ntransformers==4.49.0\n")
    (tmp_path / "sft.yaml").write_text(FACTORY)
    (note,) = gradcompat.check(tmp_path, only=["GC-0003"]).findings
    assert note.finding.status == "affected"
    assert {one.sentence for one in note.finding.assumed} >= {"training.gradient_checkpointing is true"}
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0003"], assume="none").findings] == [
        "conditional"
    ]
