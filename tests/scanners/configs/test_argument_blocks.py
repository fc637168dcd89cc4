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
from gradcompat.terms.comparison import texts
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
    assert expected in calls_of(run_of(tmp_path, {"train.py": f"{HEAD}{program}", "config.yaml": block}).runs[0])


LOADED = 'cfg = yaml.safe_load(open("config.yaml"))\n'
OPTIMIZER = "import torch\nimport yaml\nfrom omegaconf import OmegaConf\nfrom transformers import Trainer\n"
TRAINED = "torch.optim.SGD(w, {})\nTrainer('m').train()\n"


@pytest.mark.parametrize(
    ("program", "given", "expected"),
    [
        (LOADED, 'lr=cfg["train"]["lr"]', "lr=0.0002"),
        (LOADED, 'lr=float(cfg["train"].get("lr", 1))', "lr=0.0002"),
        (LOADED + 'train = cfg["train"]\n', 'lr=train["lr"]', "lr=0.0002"),
        ('cfg = OmegaConf.load("config.yaml")\n', "nesterov=cfg.train.nesterov", "nesterov=True"),
        (LOADED, 'mode=cfg["train"]["mode"]', "mode='fast'"),
        (LOADED, 'momentum=cfg["train"]["momentum"]', "momentum=None"),
        (LOADED, 'modules=cfg["train"]["modules"]', "modules=['q', 'v']"),
        # what is no word, no single value, or not there
        (LOADED, 'mode=cfg["train"]["text"]', "mode=_config('train', 'text')"),
        (LOADED, 'betas=cfg["train"]["betas"]', "betas=_config('train', 'betas')"),
        (LOADED, 'lr=cfg["lr"]', "lr=_config('lr')"),
        (LOADED, 'options=cfg["train"]', "options=_config('train')"),
        # a secret by the name of the key or of the argument
        (LOADED, 'mode=cfg["train"]["token"]', "mode=_config('train', 'token')"),
        (LOADED, 'token=cfg["train"]["mode"]', "token=_2"),
        # what the program may set itself
        (LOADED + 'cfg["train"]["lr"] = 1\n', 'lr=cfg["train"]["lr"]', "lr=_2"),
        (LOADED + 'cfg["train"] = other()\n', 'lr=cfg["train"]["lr"]', "lr=_2"),
        (LOADED + "cfg.update(vars(args))\n", 'lr=cfg["train"]["lr"]', "lr=_2"),
        (LOADED + "override(cfg, sys.argv)\n", 'lr=cfg["train"]["lr"]', "lr=_2"),
        (
            'cfg = OmegaConf.merge(OmegaConf.load("config.yaml"), OmegaConf.from_cli())\n',
            "lr=cfg.train.lr",
            "lr=_config('train', 'lr')",
        ),
        (LOADED + "cfg.merge_from_list(sys.argv)\n", 'lr=cfg["train"]["lr"]', "lr=_2"),
        (LOADED + "setattr(cfg, name, 1)\n", 'lr=cfg["train"]["lr"]', "lr=_2"),
        # a part of a config that is handed on, under a name as configs have
        (LOADED + 'config = cfg["other"]\n', 'lr=config["lr"]', "lr=3"),
        # what is no config that is loaded
        ('config = AutoConfig.from_pretrained("m")\nopen("config.yaml")\n', "lr=config.train.lr", "lr=_2"),
        # another number than the config has
        (LOADED, 'lr=2 * cfg["train"]["lr"]', "lr=_2"),
        (LOADED, 'lr=str(cfg["train"]["lr"])', "lr=_2"),
    ],
)
def test_a_call_has_the_value_that_it_looks_up(tmp_path: Path, program: str, given: str, expected: str) -> None:
    text = (
        "train:\n  lr: 2e-4\n  nesterov: true\n  mode: fast\n  momentum:\n  text: as it is\n  token: hf\n"
        "  modules: [q, v]\n  betas: [0.9, 0.99]\nother: {lr: 3}\n"
    )
    program = f"{OPTIMIZER}from transformers import AutoConfig\n{program}{TRAINED.format(given)}"
    run = run_of(tmp_path, {"train.py": program, "config.yaml": text}).runs[0]
    assert [call for call in calls_of(run) if "SGD" in call] == [f"torch.optim.SGD(_1, {expected})"]


@pytest.mark.parametrize(("other", "expected"), [("1", "lr=1"), ("2", "lr=_config('lr')")])
def test_of_several_configs_a_value_counts_that_they_agree_on(tmp_path: Path, other: str, expected: str) -> None:
    program = OPTIMIZER + LOADED + 'other = load_config("other.yaml")\n' + TRAINED.format('lr=cfg["lr"]')
    configs = {"config.yaml": "lr: 1\n", "other.yaml": f"lr: {other}\n"}
    run = run_of(tmp_path, {"train.py": program, **configs}).runs[0]
    assert f"torch.optim.SGD(_1, {expected})" in calls_of(run)


def test_the_config_that_the_launch_names_has_the_value(tmp_path: Path) -> None:
    program = OPTIMIZER + 'parser.add_argument("--config", default="config.yaml")\n' + TRAINED.format('lr=cfg["lr"]')
    program = program.replace("torch.optim", "cfg = yaml.safe_load(open(parser.parse_args().config))\ntorch.optim")
    files = {"train.py": program, "config.yaml": "lr: 1\n", "other.yaml": "lr: 2\n"}
    assert "torch.optim.SGD(_1, lr=1)" in calls_of(run_of(tmp_path, files).runs[0])
    files["run.sh"] = "python train.py --config other.yaml\n"
    assert "torch.optim.SGD(_1, lr=2)" in calls_of(run_of(tmp_path, files).runs[0])


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("print(cfg.lr)", "1"), ("cfg.lr = args.lr", "_config('lr')"), ("update(cfg)", "_config('lr')")],
)
def test_what_the_program_sets_before_a_module_looks_it_up(tmp_path: Path, setting: str, expected: str) -> None:
    files = {
        "build.py": "import torch\n\ndef build(cfg, w):\n    made = torch.optim.SGD(w, lr=cfg.lr)\n    return made\n",
        "train.py": f"{OPTIMIZER}from build import build\ncfg = OmegaConf.load('config.yaml')\n{setting}\n"
        "Trainer('m', optimizers=build(cfg, w)).train()\n",
        "config.yaml": "lr: 1\n",
    }
    assert f"torch.optim.SGD(_1, lr={expected})" in calls_of(run_of(tmp_path, files).runs[0])


def test_parts_of_a_config_that_functions_and_objects_are_given(tmp_path: Path) -> None:
    program = (
        OPTIMIZER + LOADED + 'def build(opt):\n    return torch.optim.SGD(w, lr=opt["lr"])\nbuild(cfg["a"])\n'
        'class Run:\n    def __init__(self, config):\n        self.config = config["b"]\n'
        '    def make(self):\n        return torch.optim.Adam(w, lr=self.config["lr"])\n'
        "Run(cfg).make()\nTrainer('m').train()\n"
    )
    text = "lr: 0\na: {lr: 1}\nb: {lr: 2}\n"
    found = calls_of(run_of(tmp_path, {"train.py": program, "config.yaml": text}).runs[0])
    assert {"torch.optim.SGD(_1, lr=1)", "torch.optim.Adam(_1, lr=2)"} <= {*found}


def calls_of(run: Context) -> list[str]:
    return [call for one in run.settings if one.key == "code.calls" for call in texts(one.value)]
