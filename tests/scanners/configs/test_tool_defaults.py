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


TUNE = "model:\n  _component_: torchtune.models.llama3.llama3_8b\nloss:\n  _component_: torch.nn.CrossEntropyLoss\n"
AXOLOTL = "base_model: m\nmicro_batch_size: 1\nsequence_len: 9\nadapter: lora\n"
UNSLOTH = "unsloth==2024.10.7\nunsloth-zoo==2025.3.8\ntransformers==4.50.0\n"
DGL = "dgl==2.1.0\ntorch==2.2.2\n"


@pytest.mark.parametrize(
    ("name", "text", "listed", "record", "expected"),
    [
        ("a.yaml", AXOLOTL, UNSLOTH, "GC-0492", "dormant"),
        ("a.yaml", AXOLOTL + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\n", UNSLOTH, "GC-0492", "dormant"),
        ("a.yaml", AXOLOTL + "plugins:\n  - mine.FasterPlugin\n", UNSLOTH, "GC-0492", "affected"),
        ("sft.yaml", FACTORY, UNSLOTH, "GC-0492", "dormant"),
        ("sft.yaml", FACTORY + "use_unsloth: true\n", UNSLOTH, "GC-0492", "affected"),
        ("sft.yaml", FACTORY, DGL, "GC-0594", "dormant"),
        ("sft.sh", SWIFT, DGL, "GC-0594", "dormant"),
        ("sft.sh", SWIFT + " --external_plugins mine.py", DGL, "GC-0594", "affected"),
        ("tune.yaml", TUNE, DGL, "GC-0594", "dormant"),
        ("tune.yaml", TUNE + "dataset:\n  _component_: graphs.texts\n", DGL, "GC-0594", "affected"),
        ("tune.yaml", TUNE, "torchtune==0.3.1\ntorchao==0.7.0\n", "GC-0234", "affected"),
    ],
)
def test_a_tool_imports_what_it_does_and_nothing_else_that_is_listed(
    tmp_path: Path, name: str, text: str, listed: str, record: str, expected: str
) -> None:
    (tmp_path / "requirements.txt").write_text(listed)
    (tmp_path / name).write_text(text)
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=[record]).findings] == [expected]


def test_code_beside_a_config_may_be_what_the_tool_is_told_to_run(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(DGL)
    (tmp_path / "sft.yaml").write_text(FACTORY)
    (tmp_path / "rewards.py").write_text(
        "import dgl\nfrom transformers import AutoModel\n"
        "def reward(graph):\n    return AutoModel.from_pretrained('m')(dgl.to_homogeneous(graph))\n"
    )
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0594"]).findings] == ["affected"]


def test_runs_of_which_one_alone_imports_a_package_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(UNSLOTH)
    (tmp_path / "a.yaml").write_text(FACTORY)
    (tmp_path / "b.yaml").write_text(FACTORY + "use_unsloth: true\n")
    (found,) = gradcompat.check(tmp_path, only=["GC-0492"]).findings
    assert found.finding.status == "affected"
    assert [Path(one).name for one in found.finding.contexts] == ["b.yaml"]
