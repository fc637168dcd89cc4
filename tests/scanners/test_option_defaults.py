"""What options of a program's own command line give: the value of the launch, or else the default."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import SettingValue
from gradcompat.scanners import launch_script, python_code
from gradcompat.scanners.run_assembly import join

KEY = "training.gradient_accumulation_steps"
ARGPARSE = """\
import argparse
from transformers import Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--gradient_accumulation_steps", type=int, default=8)
parser.add_argument("--gas", type=int, default=2)
parser.add_argument("--bf16", action="store_true")
args = parser.parse_args()
Trainer("m", TrainingArguments("out", gradient_accumulation_steps=args.gradient_accumulation_steps)).train()
"""
DATACLASS = """\
from dataclasses import dataclass, field
from transformers import HfArgumentParser, Trainer, TrainingArguments
@dataclass
class Arguments(TrainingArguments):
    gradient_accumulation_steps: int = field(default=8, metadata={"help": "steps"})
    seed: int = 3
(args,) = HfArgumentParser((Arguments,)).parse_args_into_dataclasses()
Trainer("m", args).train()
"""


def joined(program: str, script: str | None = None) -> Context:
    contexts = [python_code.scan(Document("train.py", program))]
    if script is not None:
        contexts.append(launch_script.scan(Document("run.sh", script)))
    (run,) = join(contexts)
    return run


def values(
    program: str, script: str | None = None, *, key: str = KEY
) -> list[tuple[str, int | None, SettingValue | None]]:
    settings = joined(program, script).settings
    return [(one.location.path, one.location.line, one.value) for one in settings if one.key == key]


@pytest.mark.parametrize(("program", "line"), [(ARGPARSE, 4), (DATACLASS, 5)])
def test_the_default_counts_unless_the_command_line_overrides_it(program: str, line: int) -> None:
    default = [("train.py", line, 8)]
    assert values(program) == default
    assert values(program, "python train.py --output_dir out\n") == default
    assert values(program, "python train.py --gradient_accumulation_steps 4\n") == [("run.sh", 1, 4)]
    assert None in [value for *_, value in values(program, 'python train.py "$@"\n')]
    several = "python train.py --gradient_accumulation_steps 4\npython train.py\n"
    assert [value for *_, value in values(program, several)] != [4]


def test_an_option_of_another_name() -> None:
    program = ARGPARSE.replace("args.gradient_accumulation_steps", "args.gas")
    assert values(program) == [("train.py", 5, 2)]
    assert values(program, "python train.py --gas 4\n") == [("run.sh", 1, 4)]
    assert values(program, "python train.py --gas $STEPS\n") == [("run.sh", 1, None)]
    assert values(program, "python train.py --gas 4\npython train.py\n") == [("run.sh", 1, 4), ("train.py", 5, 2)]


def test_the_names_of_an_option_on_the_command_line_are_its_flags() -> None:
    program = ARGPARSE.replace('"--gas"', '"-g", "--grad-accum", dest="gas"').replace("=args.gradient", "=args.gas #")
    program = program.replace("gas #_accumulation_steps", "gas")
    assert values(program, "python train.py --output_dir out\n") == [("train.py", 5, 2)]
    for flag in ("-g", "--grad-accum", "--grad_accum"):
        assert values(program, f"python train.py {flag} 4\n")[0][2] == 4


def test_a_switch_of_another_name() -> None:
    program = ARGPARSE.replace("--bf16", "--checkpoint").replace(
        '"out", gradient_accumulation_steps=args.gradient_accumulation_steps',
        '"out", gradient_checkpointing=args.checkpoint',
    )
    key = "training.gradient_checkpointing"
    assert values(program, "python train.py --output_dir out\n", key=key) == [("train.py", 6, False)]
    assert values(program, "python train.py --checkpoint\n", key=key) == [("run.sh", 1, True)]
    negated = program.replace('action="store_true"', "action=argparse.BooleanOptionalAction, default=True")
    assert values(negated, "python train.py --no-checkpoint\n", key=key) == [("run.sh", 1, False)]
    assert values(negated, "python train.py --learning_rate 1\n", key=key) == [("train.py", 6, True)]


def test_an_option_without_a_default_says_nothing_until_it_is_given() -> None:
    program = ARGPARSE.replace("gradient_accumulation_steps=args.gradient_accumulation_steps", "optim=args.opt")
    program = program.replace('"--gas", type=int, default=2', '"--opt"')
    key = "optimizer.name"
    assert values(program, "python train.py --output_dir out\n", key=key) == []
    assert values(program, "python train.py --opt adafactor\n", key=key) == [("run.sh", 1, "adafactor")]
    assert [value for *_, value in values(program, 'python train.py "$@"\n', key=key)] == [None]


def test_an_option_that_the_program_changes_is_not_known() -> None:
    program = ARGPARSE.replace("args = parser.parse_args()\n", "args = parser.parse_args()\nargs.gas = steps(args)\n")
    program = program.replace("=args.gradient_accumulation_steps", "=args.gas")
    assert [value for *_, value in values(program, "python train.py --output_dir out\n")] == [None]


@pytest.mark.parametrize("program", [ARGPARSE, DATACLASS])
def test_a_default_is_presumed_until_the_launch_is_known(program: str) -> None:
    (alone,) = [one for one in joined(program).settings if one.key == KEY]
    (launched,) = [one for one in joined(program, "python train.py --output_dir out\n").settings if one.key == KEY]
    assert (alone.presumed, launched.presumed) == (True, False)


def test_what_is_no_option_stays_unknown() -> None:
    for owner in ("config", "other.args"):
        program = ARGPARSE.replace("=args.", f"={owner}.")
        assert [value for *_, value in values(program)] == [None]
