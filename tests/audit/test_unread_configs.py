"""Configs that a run names, and of which nobody knows what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.runs import in_folder
from gradcompat.files.root import root_of_folder

PROGRAM = (
    "import yaml\nfrom transformers import Trainer, TrainingArguments\n"
    "settings = yaml.safe_load(open('{}'))\nTrainer(args=TrainingArguments('out', deepspeed='{}')).train()\n"
)


def noted(folder: Path, name: str, text: str | None, program: str = PROGRAM) -> list[str]:
    (folder / "train.py").write_text(program.format(name, "ds.json"), "utf-8")
    if text is not None:
        (folder / name).write_text(text, "utf-8")
    contexts, unread = in_folder(folder, ".", root_of_folder(folder, "."))
    assert unread == []
    return [one.what for context in contexts for one in context.skipped]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("own.yaml", "", ["own.yaml"]),
        ("own.yaml", "rate: 3\n", ["own.yaml"]),
        ("ds.json", '{"fancy": 1}', ["ds.json"]),
        ("ds.json", "{}", ["ds.json"]),
        ("ds.json", '{"zero_optimization": {"stage": 2}, "train_batch_size": 8}', []),
        ("own.yaml", None, []),  # it is not there, and may be made by the program
        ("labels.json", '{"a": 1}', []),  # data
        ("config.json", '{"rate": 3}', ["config.json"]),  # of the program itself
    ],
)
def test_a_config_that_says_nothing_known(tmp_path: Path, name: str, text: str | None, expected: list[str]) -> None:
    assert noted(tmp_path, name, text) == expected


def test_the_config_of_weights_is_none_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/config.json").write_text('{"rate": 3}', "utf-8")
    program = (
        "from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained('weights')\n" + PROGRAM
    )
    assert noted(tmp_path, "own.yaml", "rate: 3\n", program) == ["own.yaml"]


def test_a_data_set_is_no_config(tmp_path: Path) -> None:
    (tmp_path / "coco8.yaml").write_text("names: [a, b]\n", "utf-8")
    (tmp_path / "run.sh").write_text("yolo detect train data=coco8.yaml epochs=3\n", "utf-8")
    contexts, _ = in_folder(tmp_path, ".", root_of_folder(tmp_path, "."))
    assert [context.skipped for context in contexts] == [()]


def test_a_group_of_hydra_that_says_nothing_of_the_training(tmp_path: Path) -> None:
    program = "import hydra\nimport torch\n@hydra.main(config_path='conf', config_name='train')\ndef main(cfg):\n"
    (tmp_path / "train.py").write_text(
        f"{program}    loss.backward()\n    torch.optim.SGD(p).step()\nmain()\n", "utf-8"
    )
    for name, text in {
        "conf/train.yaml": "defaults:\n  - logger: none\naccumulate_grad_batches: 2\n",
        "conf/logger/none.yaml": "logger: null\n",
        "conf/logger/csv.yaml": "csv:\n  name: out\n",
        "conf/experiment/one.yaml": "# @package _global_\ndefaults:\n  - override /logger: csv\n"
        "accumulate_grad_batches: 4\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    contexts, _ = in_folder(tmp_path, ".", root_of_folder(tmp_path, "."))
    assert any(context.kind == "hydra" for context in contexts)
    assert [one.what for context in contexts for one in context.skipped] == []
