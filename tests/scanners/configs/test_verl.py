"""Configs of verl's SFT trainer, which its command names."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.configs import verl

CONFIG = (Path(__file__).parents[2] / "fixtures/scanners/verl/sft.yaml").read_text("utf-8")


def test_a_config_says_what_its_run_does() -> None:
    context = scan(Document("sft.yaml", CONFIG))
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
        "actor_rollout_ref:\n  model: {path: m}\ndata:\n  multiturn: {enable: true}\n",
        "multiturn: {enable: true}\nmodel: {path: m}\n",
    ],
)
def test_what_is_of_another_trainer(text: str) -> None:
    with pytest.raises(Unrecognised):
        verl.scan(Document("a.yaml", text))


def test_a_named_config_may_have_another_batch() -> None:
    assert verl.micro_batches({}, 8) == 8
    assert verl.micro_batches({"config_name": "mine"}, 8) is None
