"""What options of a program's own command line give: the value of the launch, or else the default."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
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


def values(program: str, script: str | None = None) -> list[tuple[str, int | None, SettingValue | None]]:
    contexts = [python_code.scan(Document("train.py", program))]
    if script is not None:
        contexts.append(launch_script.scan(Document("run.sh", script)))
    (run,) = join(contexts)
    return [(one.location.path, one.location.line, one.value) for one in run.settings if one.key == KEY]


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
    assert [value for *_, value in values(program, "python train.py --gas 4\n")] == [None]


def test_what_is_no_option_stays_unknown() -> None:
    for owner in ("config", "other.args"):
        program = ARGPARSE.replace("=args.", f"={owner}.")
        assert [value for *_, value in values(program)] == [None]
