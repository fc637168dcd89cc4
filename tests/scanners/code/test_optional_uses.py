"""What a program uses only where options of its command line ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import gradcompat
from gradcompat.audit.runs import in_folder
from gradcompat.files.root import root_of_folder
from gradcompat.scanners.run_assembly import assemble
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY

PARSER = """
import argparse
import torch
from torch.optim import SGD
parser = argparse.ArgumentParser()
parser.add_argument("--track", action="store_true")
parser.add_argument("--logger", default="tensorboard")
parser.add_argument("--run")
parser.add_argument("--group")
parser.add_argument("--local_rank", type=int, default=-1)
args = parser.parse_args()
"""
TRAINING = """
model = torch.nn.Linear(2, 1)
optimizer = SGD(model.parameters(), lr=0.1)
for batch in range(8):
    loss = model(torch.ones(2)).sum()
    loss.backward()
    optimizer.step()
"""
LISTED = "wandb==0.17.1\nnumpy==2.0.0\ntorch==2.3.0\n"
RECORD = "GC-0652"


def status(folder: Path, program: str, launch: str = "", assume: Literal["usual", "none"] = "usual") -> str | None:
    """What is found; None for nothing, as where a fact speaks against it."""
    (folder / "requirements.txt").write_text(LISTED)
    (folder / "train.py").write_text(program + TRAINING)
    if launch:
        (folder / "train.sh").write_text(f"python train.py {launch}\n")
    found = gradcompat.check(folder, only=[RECORD], assume=assume).findings
    return found[0].finding.status if found else None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if args.track:\n    import wandb\n    wandb.init()\n", "dormant"),
        ("if not args.track:\n    import wandb\n    wandb.init()\n", "affected"),
        ("if args.track:\n    pass\nelse:\n    import wandb\n    wandb.init()\n", "affected"),
        ("if args.logger == 'wandb':\n    import wandb\n    wandb.init()\n", "dormant"),
        ("if args.logger == 'tensorboard':\n    import wandb\n    wandb.init()\n", "affected"),
        ("main = torch.cuda.is_available()\nif args.track and main:\n    import wandb\n    wandb.init()\n", "dormant"),
        (
            "main = torch.cuda.is_available()\nif main:\n"
            "    if args.track:\n        import wandb\n        wandb.init()\n",
            "dormant",
        ),
        (
            "if args.track:\n    import wandb\n    wandb.init()\nelse:\n    import wandb\n    wandb.log({})\n",
            "affected",
        ),
        # A variable stands for it, and is used behind the option.
        (
            "start = print\nif args.track:\n    import wandb\n    start = wandb.init\nrun = start()\nrun.log({})\n",
            "dormant",
        ),
        (
            "import wandb\nstart = print\nif args.track:\n    start = wandb.init\nrun = start()\nwandb.log({})\n",
            "affected",
        ),
        # Launchers give it to each process.
        ("if args.local_rank != -1:\n    import wandb\n    wandb.init()\n", "affected"),
        # Either of two options is mostly given, though neither has a default.
        (
            "if args.run:\n    import wandb\n    wandb.init(args.run)\n"
            "elif args.group:\n    import wandb\n    wandb.init(group=args.group)\n",
            "affected",
        ),
        ("if args.run:\n    import wandb\n    wandb.init(args.run)\n", "dormant"),
        # The import is run whatever the options are.
        ("import wandb\nif args.track:\n    wandb.init()\n", "affected"),
        ("from wandb import init\nif args.track:\n    init()\n", "affected"),
    ],
)
def test_what_stands_behind_an_option_is_used_where_its_default_lets_it(
    tmp_path: Path, body: str, expected: str
) -> None:
    assert status(tmp_path, PARSER + body) == expected


BODY = "if args.track:\n    import wandb\n    wandb.init()\n"


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("--track", "affected"),
        ("--logger wandb", None),
        ("--track --logger x", "affected"),
        ("$MORE", "affected"),
    ],
)
def test_a_launch_says_what_its_options_are(tmp_path: Path, launch: str, expected: str | None) -> None:
    assert status(tmp_path, PARSER + BODY, launch) == expected


def test_without_presumptions_a_default_decides_nothing(tmp_path: Path) -> None:
    assert status(tmp_path, PARSER + BODY, assume="none") == "conditional"


def test_a_name_that_the_command_line_may_set_is_presumed_to_be_what_is_written(tmp_path: Path) -> None:
    program = "import torch\nfrom torch.optim import SGD\ntrack = {}\nexec(open('configurator.py').read())\n"
    body = "if track:\n    import wandb\n    wandb.init()\n"
    assert status(tmp_path, program.format(False) + body) == "dormant"
    assert status(tmp_path, program.format(True) + body) == "affected"
    # The configurator reads configs that are named there, too.
    assert status(tmp_path, program.format(False) + body, "config.py") == "affected"


ASSIGNED = """
import torch
from accelerate import Accelerator
init_from = "scratch"
steps = 5 * 8
compile = True
exec(open("configurator.py").read())
accelerator = Accelerator(gradient_accumulation_steps=steps)
if compile:
    model = torch.compile(model)
if init_from == "resume":
    state = torch.load("ckpt.pt")
for batch in loader:
    model(batch).backward()
    torch.optim.SGD(model.parameters()).step()
"""


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        (None, {("steps", 40, True), ("compile", True, True)}),
        ("python train.py", {("steps", 40, False), ("compile", True, False)}),
        ("python train.py --steps=4 --compile=False", {("steps", 4, False)}),
        ("python train.py config/finetune.py", {("steps", None, False), ("compile", None, False)}),
        ("python train.py config/finetune.py --steps=4", {("steps", 4, False), ("compile", None, False)}),
    ],
)
def test_names_of_the_module_are_options_where_a_configurator_sets_them(
    tmp_path: Path, launch: str | None, expected: set[tuple[str, object, bool]]
) -> None:
    keys = {"training.gradient_accumulation_steps": "steps", "training.torch_compile": "compile"}
    (tmp_path / "train.py").write_text(ASSIGNED)
    if launch is not None:
        (tmp_path / "run.sh").write_text(f"{launch}\n")
    (run,) = assemble(in_folder(tmp_path, ".", root_of_folder(tmp_path, "."))[0]).runs
    assert {(keys[one.key], one.value, one.presumed) for one in run.settings if one.key in keys} == expected


@pytest.mark.parametrize(("start", "expected"), [("scratch", "dormant"), ("resume", "affected")])
def test_a_word_that_the_command_line_may_set_decides_what_is_used(tmp_path: Path, start: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    (tmp_path / "train.py").write_text(ASSIGNED.replace('"scratch"', f'"{start}"'))
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0060"]).findings] == [expected]


def test_one_of_two_options_leads_to_a_call(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("datasets==2.14.4\nfsspec==2024.2.0\ntorch==2.3.0\n")
    loading = (
        "from datasets import load_dataset\nif args.run:\n    data = load_dataset(args.run)\n"
        "elif args.group:\n    data = load_dataset('imagefolder', data_files=args.group)\n"
    )
    (tmp_path / "train.py").write_text(PARSER + loading + TRAINING)
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0196"]).findings] == ["affected"]


@pytest.mark.parametrize(("launch", "expected"), [("--local_rank 0", None), ("--run last.pt", "affected")])
def test_a_call_that_takes_the_option_itself(tmp_path: Path, launch: str, expected: str | None) -> None:
    """What stands behind the option is gone with it, although the launch changes what the call is given."""
    program = PARSER + "if args.run:\n    torch.load(args.run)\n" + TRAINING
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "train.sh").write_text(f"python train.py {launch}\n")
    found = gradcompat.check(tmp_path, only=["GC-0060"]).findings
    assert (found[0].finding.status if found else None) == expected


EVALUATION = """
from transformers import HfArgumentParser, Trainer, TrainingArguments
(training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
trainer = Trainer(model=model, args=training_args, train_dataset=rows, eval_dataset=others)
trainer.train()
if training_args.do_eval:
    metrics = trainer.evaluate()
"""


def symbols(folder: Path) -> set[str]:
    """What the one run of a folder uses."""
    (run,) = assemble(in_folder(folder, ".", root_of_folder(folder, "."))[0]).runs
    values = (one.value for one in run.settings if one.key == SYMBOLS_KEY)
    return {name for value in values if isinstance(value, tuple) for name in value if isinstance(name, str)}


@pytest.mark.parametrize(
    ("launch", "evaluates"),
    [
        ("--output_dir o", False),
        ("--output_dir o --do_eval", True),
        ("--output_dir o --do_eval False", False),
        ("--output_dir o --eval_strategy steps", True),
        ("--output_dir o --eval_strategy no", False),
    ],
)
def test_a_trainer_evaluates_where_its_arguments_say_so(tmp_path: Path, launch: str, evaluates: bool) -> None:
    (tmp_path / "train.py").write_text(EVALUATION)
    (tmp_path / "train.sh").write_text(f"python train.py {launch}\n")
    assert ("transformers.Trainer.evaluate" in symbols(tmp_path)) is evaluates


@pytest.mark.parametrize(("said", "evaluates"), [("do_eval: false", False), ("do_eval: true", True), ("seed: 1", True)])
def test_a_config_of_arguments_says_whether_its_trainer_evaluates(tmp_path: Path, said: str, evaluates: bool) -> None:
    (tmp_path / "train.py").write_text(
        EVALUATION.replace("HfArgumentParser(", "TrlParser(")
        .replace("import HfArgumentParser,", "import")
        .replace("from transformers", "from trl import TrlParser\nfrom transformers")
        .replace("parse_args_into_dataclasses", "parse_args_and_config")
    )
    (tmp_path / "a.yaml").write_text(f"model_name_or_path: gpt2\noutput_dir: o\nlearning_rate: 1.0e-6\n{said}\n")
    (tmp_path / "train.sh").write_text("python train.py --config a.yaml\n")
    assert ("transformers.Trainer.evaluate" in symbols(tmp_path)) is evaluates
