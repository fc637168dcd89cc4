"""Configs of verl's trainers, and the commands that name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.runs import in_folder
from gradcompat.errors import Unrecognised
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.configs import verl
from gradcompat.scanners.run_assembly import assemble
from tests.scanners.scanned import FIXTURES, fixture, lines

CONFIG = (FIXTURES / "verl" / "grpo.yaml").read_text()
PPO = "python3 -m verl.trainer.main_ppo"


def test_what_a_config_says() -> None:
    context = scan(fixture("verl/grpo.yaml"))
    assert not context.run
    assert lines(context) == [
        (3, "data.shuffle", False),
        (7, "model.name", "Qwen/Qwen2.5-7B-Instruct"),
        (7, "model.architecture", ("Qwen2ForCausalLM",)),
        (8, "training.gradient_checkpointing", True),
        (10, "distributed.strategy", "fsdp"),
        (10, "fsdp.version", 2),
        (11, "training.loss_type", "seq-mean-token-sum"),
        (14, "training.use_vllm", True),
        (15, "training.temperature", 0.7),
        (17, "training.method", "grpo"),
        (17, "training.advantage_estimator", "grpo"),
        (19, "training.num_train_epochs", 2),
        (20, "training.resume_from_checkpoint", False),
    ]


def run_of(folder: Path, command: str) -> dict[str, object]:
    (folder / "grpo.yaml").write_text(CONFIG)
    (folder / "run.sh").write_text(f"{command}\n")
    (run,) = assemble(in_folder(folder, ".", root_of_folder(folder, "."))[0]).runs
    return {one.key: one.value for one in run.settings}


def test_a_command_is_a_run_with_the_config_that_it_names(tmp_path: Path) -> None:
    told = run_of(tmp_path, f"{PPO} --config-path=. --config-name=grpo actor_rollout_ref.rollout.temperature=0.9")
    expected = {
        "training.framework": "verl",
        "training.method": "grpo",
        "training.loss_type": "seq-mean-token-sum",
        "training.temperature": 0.9,
    }
    assert {key: told.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ("--config-path=elsewhere --config-name=ours", None),
        ("--config-path=elsewhere --config-name=ours algorithm.adv_estimator=grpo", "grpo"),
        ("", "ppo"),
    ],
)
def test_defaults_of_verl_are_not_those_of_a_config_that_is_not_seen(
    tmp_path: Path, options: str, method: str | None
) -> None:
    told = run_of(tmp_path, f"{PPO} {options}")
    assert told.get("training.method") == method
    assert ("training.loss_type" in told) is (not options)


@pytest.mark.parametrize(
    ("options", "strategy"),
    [
        ("--config-path=config --config-name='ppo_megatron_trainer.yaml'", "megatron_lm"),
        ("--config-name=ppo_megatron_trainer", "megatron_lm"),
        ("--config-path=config --config-name=ppo_trainer", None),
        ("--config-path=elsewhere --config-name=ppo_megatron_trainer", None),
    ],
)
def test_the_config_of_verl_for_megatron_names_its_engine(tmp_path: Path, options: str, strategy: str | None) -> None:
    assert run_of(tmp_path, f"{PPO} {options}").get("distributed.strategy") == strategy


def test_a_config_of_sft_is_a_run() -> None:
    context = scan(fixture("verl/sft.yaml"))
    said = {one.key: one.value for one in context.settings}
    assert (context.kind, context.run) == ("verl", True)
    assert said["training.framework"] == "verl"
    assert said["training.method"] == "sft"
    assert said["data.multi_turn"] is True
    assert said["data.sequence_length"] == 2048
    assert said["model.name"] == "Qwen/Qwen2.5-0.5B-Instruct"


@pytest.mark.parametrize(
    "text",
    [
        "data:\n  train_files: a\n",
        "multiturn: {enable: true}\nmodel: {path: m}\n",
    ],
)
def test_what_is_of_another_trainer(text: str) -> None:
    with pytest.raises(Unrecognised):
        verl.scan(Document("a.yaml", text))


def test_a_named_config_may_have_another_batch() -> None:
    assert verl.micro_batches({}, 8) == 8
    assert verl.micro_batches({"config_name": "mine"}, 8) is None
