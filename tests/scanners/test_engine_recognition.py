"""Each of these files goes to the scanner that it is for, by its name and the words in it."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.any_config import scan
from tests.scanners.scanned import fixture

KINDS = {
    "accelerate/file.yaml": "accelerate",
    "accelerate/fsdp.yaml": "accelerate",
    "accelerate/zero2.yaml": "accelerate",
    "deepspeed/commented.json": "deepspeed",
    "deepspeed/neox.yml": "gpt-neox",
    "deepspeed/zero3.json": "deepspeed",
    "hydra/group.yaml": "hydra",
    "hydra/run.yaml": "hydra",
    "lightning/cli.yaml": "lightning-cli",
    "lightning/subcommand.yaml": "lightning-cli",
    "models/adapter_config.json": "hf-adapter",
    "models/llava/config.json": "hf-model",
    "torchtune/qlora.yaml": "torchtune",
    "verl/grpo.yaml": "verl",
}


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_each_tool(name: str) -> None:
    assert scan(fixture(name)).kind == KINDS[name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ci.yml", "defaults:\n  run: {shell: bash}\njobs: {train: {steps: []}}\n"),
        ("compose.yaml", "services:\n  trainer: {image: x}\n"),
        ("verl.yaml", "trainer: {nnodes: 1, n_gpus_per_node: 8, total_epochs: 1}\nmodel: {lora_rank: 0}\n"),
        ("policy.yaml", "actor_rollout_ref:\n  model: {path: x/y}\n"),
        ("package.json", '{"name": "x", "scripts": {"train_batch_size": "1"}}'),
        ("special_tokens_map.json", '{"model_type": "llama", "pad_token": "X"}'),
        ("trainer_state.json", '{"train_batch_size": 8, "global_step": 1}'),
    ],
)
def test_what_only_looks_like_one(name: str, text: str) -> None:
    with pytest.raises(Malformed):
        scan(Document(name, text))
