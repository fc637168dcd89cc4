"""Configs of a project's own: blocks of arguments, what programs pass on of them, and which of them a run has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gradcompat.audit.runs import in_folder
from gradcompat.errors import Unrecognised
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.run_assembly import Assembly, assemble
from tests.scanners.scanned import lines

KEY = "training.gradient_accumulation_steps"
NESTED = """\
data: {path: x}
training_args:
  gradient_accumulation_steps: 8
  per_device_train_batch_size: 2
  gradient_checkpointing_kwargs: {use_reentrant: false}
lora:
  lora_alpha: 16
  modules_to_save: [lm_head]
  target_modules: [q_proj]
"""
HEAD = "import yaml\nfrom omegaconf import OmegaConf\nfrom transformers import Trainer, TrainingArguments\n"


def run_of(folder: Path, files: Mapping[str, str]) -> Assembly:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return assemble(in_folder(folder, ".", root_of_folder(folder, "."))[0])


def told(run: Context, key: str = KEY) -> list[tuple[str, int | None, SettingValue | None]]:
    return [(one.location.path, one.location.line, one.value) for one in run.settings if one.key == key]


def test_blocks_whose_keys_only_these_classes_have() -> None:
    context = scan(Document("config.yaml", NESTED))
    assert (context.kind, context.run) == ("hf-arguments", False)
    assert lines(context) == [
        (3, KEY, 8),
        (4, "training.per_device_train_batch_size", 2),
        (5, "training.use_reentrant", False),
        (8, "peft.modules_to_save", True),
    ]


def test_the_same_in_json() -> None:
    text = '{"trainer": {\n "gradient_accumulation_steps": 8,\n "lr_scheduler_type": "cosine"}}\n'
    assert lines(scan(Document("config.json", text))) == [(2, KEY, 8), (3, "optimizer.scheduler", "cosine")]


def test_keys_with_dots() -> None:
    text = "train.gradient_accumulation_steps: 8\ntrain.save_strategy: steps\n"
    assert lines(scan(Document("config.yaml", text))) == [(1, KEY, 8), (2, "training.save_strategy", "steps")]


@pytest.mark.parametrize("text", ["a: {learning_rate: 1}\n", "jobs: [gradient_accumulation_steps]\n"])
def test_what_has_no_such_block(text: str) -> None:
    with pytest.raises(Unrecognised):
        scan(Document("config.yaml", text))


@pytest.mark.parametrize(
    "program",
    [
        'cfg = yaml.safe_load(open("config.yaml"))\nTrainer("m", TrainingArguments(**cfg["train"])).train()\n',
        'with open("config.yaml") as f:\n    x = yaml.safe_load(f)\n'
        'Trainer("m", TrainingArguments(**x["train"])).train()\n',
        'c = OmegaConf.load("config.yaml")\nTrainer("m", TrainingArguments(**c.train)).train()\n',
        'c = OmegaConf.load("config.yaml")\nt = OmegaConf.to_container(c.train)\n'
        'Trainer("m", TrainingArguments(**t)).train()\n',
        'c = yaml.safe_load(open("config.yaml"))\nt = c.get("train", {})\n'
        'Trainer("m", TrainingArguments("o", **t)).train()\n',
        'def main(cfg):\n    Trainer("m", TrainingArguments("o", gradient_accumulation_steps=cfg.train.gas)).train()\n'
        'main(load_config("config.yaml"))\n',
        'config = load_config("config.yaml")\n'
        'Trainer("m", TrainingArguments("o", gradient_accumulation_steps=config["train"]["gas"])).train()\n',
    ],
)
def test_one_key_that_the_program_passes_on(tmp_path: Path, program: str) -> None:
    text = "train:\n  gradient_accumulation_steps: 8\n  gas: 8\n"
    text = text if "gas=" not in program else text.replace("  gradient_accumulation_steps: 8\n  gas", "  lr: 1\n  gas")
    text += "  # gradient_accumulation_steps\nother: {gradient_checkpointing: true}\n"
    (run,) = run_of(tmp_path, {"train.py": HEAD + program, "config.yaml": text}).runs
    line = 2 if "**" in program else 3
    assert told(run) == [("config.yaml", line, 8)]


@pytest.mark.parametrize("named", ['open("own.yaml")', "open(parser.parse_args().config)"])
def test_a_config_of_own_keys_counts_where_the_program_looks_them_up(tmp_path: Path, named: str) -> None:
    program = (
        HEAD + f'parser.add_argument("--config", default="own.yaml")\nc = yaml.safe_load({named})\n'
        'Trainer("m", TrainingArguments("o", gradient_accumulation_steps=int(c["opt"]["gas"]))).train()\n'
    )
    files = {"train.py": program, "own.yaml": "opt:\n  gas: 8\n", "other.yaml": "opt:\n  gas: 2\n"}
    (run,) = run_of(tmp_path, files).runs
    assert told(run) == [("own.yaml", 2, 8)]
    unasked = {**files, "train.py": program.replace('int(c["opt"]["gas"])', "8")}
    assert "own.yaml" not in run_of(tmp_path, unasked).runs[0].source


def test_the_block_that_is_passed_on_counts_and_the_others_of_its_kind_do_not(tmp_path: Path) -> None:
    program = 'cfg = yaml.safe_load(open("config.yaml"))\nTrainer("m", TrainingArguments(**cfg["sft"])).train()\n'
    block = "  gradient_accumulation_steps: {}\n  save_strategy: steps\n"
    text = f"sft:\n{block.format(8)}dpo:\n{block.format(2)}"
    (run,) = run_of(tmp_path, {"train.py": HEAD + program, "config.yaml": text}).runs
    assert told(run) == [("config.yaml", 2, 8)]


def test_a_config_counts_for_the_run_that_names_it(tmp_path: Path) -> None:
    program = HEAD + 'parser.add_argument("--config", default="config.yaml")\nTrainer("m").train()\n'
    other = NESTED.replace("steps: 8", "steps: 4")
    files = {"train.py": program, "config.yaml": NESTED, "other.yaml": other}
    found = run_of(tmp_path, files)
    assert [told(run) for run in found.runs] == [[("config.yaml", 3, 8)]]
    assert [one.source for one in found.unused] == ["other.yaml"]
    found = run_of(tmp_path, {**files, "run.sh": "python train.py --config other.yaml --gradient_checkpointing True\n"})
    assert [told(run) for run in found.runs] == [[("other.yaml", 3, 4)]]


def test_what_the_launch_says_counts_more_than_the_config(tmp_path: Path) -> None:
    script = "python train.py --config config.yaml --gradient_accumulation_steps 2\n"
    files = {"train.py": HEAD + 'Trainer("m").train()\n', "config.yaml": NESTED, "run.sh": script}
    assert [told(run) for run in run_of(tmp_path, files).runs] == [[("run.sh", 1, 2)]]


def test_a_file_that_is_written_is_not_read(tmp_path: Path) -> None:
    program = HEAD + 'open("config.yaml", "w").write(text)\nTrainer("m").train()\n'
    found = run_of(tmp_path, {"train.py": program, "config.yaml": NESTED})
    assert [told(run) for run in found.runs] == [[]]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            'c = yaml.safe_load(open("config.yaml"))\nTrainer("m", TrainingArguments("o", **c["train"])).train()\n',
            "transformers.TrainingArguments('o', data_seed=7, hub_token=_text, "
            "gradient_checkpointing_kwargs={'use_reentrant': False})",
        ),
        (  # who merges a command line into it may change it
            'c = OmegaConf.merge(OmegaConf.load("config.yaml"), OmegaConf.from_cli())\n'
            'Trainer("m", TrainingArguments("o", **c.train)).train()\n',
            "transformers.TrainingArguments('o', **_)",
        ),
        (
            'c = yaml.safe_load(open("config.yaml"))\nTrainer("m", TrainingArguments("o", **c["other"])).train()\n',
            "transformers.TrainingArguments('o', **_)",
        ),
    ],
)
def test_a_call_has_the_block_that_it_unpacks(tmp_path: Path, program: str, expected: str) -> None:
    block = "train:\n  data_seed: 7\n  hub_token: hf_x\n  gradient_checkpointing_kwargs: {use_reentrant: false}\n"
    run = run_of(tmp_path, {"train.py": f"{HEAD}{program}", "config.yaml": block}).runs[0]
    calls = [str(call) for one in run.settings if one.key == "code.calls" for call in one.value or ()]  # type: ignore[union-attr]
    assert expected in calls
