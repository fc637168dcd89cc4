"""What options of a program's own command line give: the value of the launch, or else the default."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code import python_code
from gradcompat.scanners.launches import launch_script
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


# As in QLoRA: what a branch passes on once more is the same option.
BRANCH = """\
from dataclasses import dataclass, field
from peft import prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class Arguments(TrainingArguments):
    gradient_checkpointing: bool = field(default=True)
(args,) = HfArgumentParser((Arguments,)).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("m")
if not args.full:
    model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=args.gradient_checkpointing)
Trainer(model, args).train()
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


def test_a_branch_that_passes_the_option_on_once_more_decides_nothing() -> None:
    key = "training.gradient_checkpointing"
    assert values(BRANCH, key=key) == [("train.py", 6, True)]
    assert values(BRANCH, "python train.py --gradient_checkpointing False\n", key=key) == [("run.sh", 1, False)]
    other = BRANCH.replace("=args.gradient_checkpointing", "=args.something")
    assert [value for *_, value in values(other, key=key)] == [True, None]


_PARSED = "args = parser.parse_args()\n"
_READ = "args.gradient_accumulation_steps)).train()"


@pytest.mark.parametrize(
    "program",
    [
        ARGPARSE.replace("args.gradient", "parser.parse_args().gradient").replace(_PARSED, ""),
        ARGPARSE.replace("Trainer(", "steps = args.gradient_accumulation_steps\nTrainer(").replace(
            _READ, "steps)).train()"
        ),
        ARGPARSE.replace(_READ, "int(args.gradient_accumulation_steps))).train()"),
        ARGPARSE.replace(_PARSED, "args = vars(parser.parse_args())\n").replace(
            "args.gradient_accumulation_steps", 'args["gradient_accumulation_steps"]'
        ),
        ARGPARSE.replace("Trainer(", "def main(cfg):\n    Trainer(").replace("=args.", "=cfg.") + "main(args)\n",
        ARGPARSE.replace("Trainer(", "def main(cfg):\n    Trainer(").replace("=args.", "=cfg.").replace(_PARSED, "")
        + "main(parser.parse_args())\n",
    ],
)
def test_an_option_is_read_by_another_name(program: str) -> None:
    assert [value for *_, value in values(program)] == [8]
    assert [value for *_, value in values(program, "python train.py --gradient_accumulation_steps 2\n")] == [2]


@pytest.mark.parametrize(
    "program",
    [
        ARGPARSE.replace("Trainer(", "steps = args.gradient_accumulation_steps\nsteps = 4 + x\nTrainer(").replace(
            _READ, "steps)).train()"
        ),
        ARGPARSE.replace(_READ, "args.gradient_accumulation_steps * 2)).train()"),
        ARGPARSE.replace("Trainer(", "def main(cfg):\n    Trainer(").replace("=args.", "=cfg.") + "main(other())\n",
    ],
)
def test_what_is_more_than_the_option_is_not_its_default(program: str) -> None:
    assert [value for *_, value in values(program)] == [None]


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


PASSED = 'Trainer(args=TrainingArguments("o", gradient_accumulation_steps={0}.steps)).train()\n'
IMPORTED = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
OWN = "from dataclasses import dataclass, field\n@dataclass\nclass Own:\n    steps: int = field(default=16)\n"


@pytest.mark.parametrize(
    "program",
    [
        (
            "import argparse\ndef options():\n    parser = argparse.ArgumentParser()\n"
            '    parser.add_argument("--steps", type=int, default=16)\n    mine = parser.parse_args()\n'
            "    return mine\n"
            "mine = options()\n" + PASSED.format("mine")
        ),
        OWN + "mine = HfArgumentParser(Own).parse_args_into_dataclasses()[0]\n" + PASSED.format("mine"),
        OWN + "script_args, = HfArgumentParser([Own]).parse_args_into_dataclasses()\n" + PASSED.format("script_args"),
        OWN + "import tyro\nmine = tyro.cli(Own)\n" + PASSED.format("mine"),
        OWN + "import pyrallis\nmine = pyrallis.parse(config_class=Own)\n" + PASSED.format("mine"),
    ],
)
def test_defaults_of_the_options_of_a_program(program: str) -> None:
    """A function that returns what it has parsed, and dataclasses that are no arguments of a trainer."""
    (found,) = [one for one in joined(IMPORTED + program).settings if one.key == KEY]
    assert (found.value, found.presumed) == (16, True)


def test_what_is_changed_or_not_parsed_has_no_default() -> None:
    changed = OWN + "script_args, = HfArgumentParser(Own).parse_args_into_dataclasses()\nscript_args.steps = read()\n"
    other = OWN + "HfArgumentParser(Own)\nmine = read()\n"
    for program, name in ((changed, "script_args"), (other, "mine")):
        values = {one.value for one in joined(IMPORTED + program + PASSED.format(name)).settings if one.key == KEY}
        assert values == {None}


def test_a_dataclass_of_another_module_has_its_defaults_there(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.47.0\n", "utf-8")
    (tmp_path / "own.py").write_text(OWN, "utf-8")
    (tmp_path / "train.py").write_text(
        IMPORTED
        + "from own import Own\nscript_args, = HfArgumentParser(Own).parse_args_into_dataclasses()\n"
        + PASSED.format("script_args"),
        "utf-8",
    )
    facts = {"model.architecture": "LlamaForCausalLM"}
    (reported,) = gradcompat.check(tmp_path, settings=facts, only=["GC-0015"]).findings
    assert reported.finding.status == "affected"
    places = [one.location for one in reported.finding.assumed if one.key == KEY and one.location is not None]
    assert [(Path(place.path).name, place.line) for place in places] == [("own.py", 4)]


MODEL = """\
from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class Config:
    model_name: str = field(default="Qwen/Qwen2.5-32B-Instruct")
def train():
    config, args = HfArgumentParser((Config, TrainingArguments)).parse_args_into_dataclasses()
    if "70B" in config.model_name:
        model = AutoModelForCausalLM.from_pretrained(config.model_name, device_map="auto")
    else:
        model = AutoModelForCausalLM.from_pretrained(config.model_name)
    Trainer(model, args).train()
train()
"""


@pytest.mark.parametrize(
    ("script", "name", "classes"),
    [
        (None, "Qwen/Qwen2.5-32B-Instruct", ("Qwen2ForCausalLM",)),
        ("python train.py --seed 1\n", "Qwen/Qwen2.5-32B-Instruct", ("Qwen2ForCausalLM",)),
        ("BASE=google/gemma-2b\npython train.py --model_name=$BASE\n", "google/gemma-2b", ("GemmaForCausalLM",)),
        ("python train.py --model_name=$1\n", None, None),
    ],
)
def test_the_model_comes_from_an_option_whichever_branch_loads_it(
    script: str | None, name: str | None, classes: tuple[str, ...] | None
) -> None:
    assert {value for *_, value in values(MODEL, script, key="model.name")} == {name}
    assert {value for *_, value in values(MODEL, script, key="model.architecture")} == {classes}


@pytest.mark.parametrize(
    "parsed",
    [
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--model_name_or_path')\n"
        "args = parser.parse_args()\n",
        "from transformers import HfArgumentParser\nfrom trl import ModelConfig, RewardConfig\n"
        "config, args = HfArgumentParser((RewardConfig, ModelConfig)).parse_args_into_dataclasses()\n",
    ],
    ids=["argparse", "a dataclass of TRL's"],
)
@pytest.mark.parametrize("task", ["SequenceClassification", "CausalLM"])
def test_the_program_says_which_class_the_model_is_of_that_a_launch_names(parsed: str, task: str) -> None:
    program = (
        f"{parsed}from transformers import AutoModelFor{task}, Trainer\n"
        f"model = AutoModelFor{task}.from_pretrained(args.model_name_or_path)\nTrainer(model).train()\n"
    )
    script = "python train.py --model_name_or_path Qwen/Qwen2.5-1.5B\n"
    assert {value for *_, value in values(program, script, key="model.architecture")} == {(f"Qwen2For{task}",)}
    assert {value for *_, value in values(program, script, key="model.name")} == {"Qwen/Qwen2.5-1.5B"}


def test_the_class_of_another_model_than_the_one_that_a_launch_names_is_not_its_own() -> None:
    program = (
        "from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, HfArgumentParser\n"
        "from trl import ModelConfig, RLOOConfig, RLOOTrainer\n"
        "config, args = HfArgumentParser((RLOOConfig, ModelConfig)).parse_args_into_dataclasses()\n"
        "policy = AutoModelForCausalLM.from_pretrained(args.model_name_or_path)\n"
        "reward = AutoModelForSequenceClassification.from_pretrained(config.reward_model_path)\n"
        "RLOOTrainer(config, tok, policy, policy, reward, data()).train()\n"
    )
    script = "python train.py --model_name_or_path Qwen/Qwen2.5-1.5B --reward_model_path google/gemma-2b\n"
    assert {value for *_, value in values(program, script, key="model.architecture")} == {("Qwen2ForCausalLM",)}


def test_two_branches_that_load_two_models_tell_both() -> None:
    program = (
        "import sys\nfrom transformers import AutoModelForCausalLM, Trainer\n"
        "if len(sys.argv) > 1:\n    model = AutoModelForCausalLM.from_pretrained('google/gemma-2b')\n"
        "else:\n    model = AutoModelForCausalLM.from_pretrained('gpt2')\nTrainer(model).train()\n"
    )
    assert [value for *_, value in values(program, key="model.name")] == ["google/gemma-2b", "gpt2"]


def test_the_model_comes_from_a_config_that_the_program_loads(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.46.0\ntorch==2.5.1\n")
    (tmp_path / "conf.yaml").write_text("model_name: google-t5/t5-small\ngradient_accumulation_steps: 8\n")
    (tmp_path / "train.py").write_text(
        "import yaml\nfrom transformers import AutoModelForSeq2SeqLM, Trainer, TrainingArguments\n"
        "cfg = yaml.safe_load(open('conf.yaml'))\n"
        "model = AutoModelForSeq2SeqLM.from_pretrained(cfg['model_name'])\n"
        "args = TrainingArguments('out', gradient_accumulation_steps=cfg['gradient_accumulation_steps'])\n"
        "Trainer(model, args).train()\n"
    )
    report = gradcompat.check(tmp_path, only=["GC-0007"])
    assert [one.finding.status for one in report.findings] == ["affected"]


VARIABLE = """\
import os
from transformers import Trainer, TrainingArguments
{}
Trainer("m", TrainingArguments("out", gradient_accumulation_steps={})).train()
"""


@pytest.mark.parametrize(
    ("kept", "given"),
    [
        ("", 'int(os.environ.get("STEPS", "8"))'),
        ("", 'int(os.getenv("STEPS", default=8))'),
        ("", 'int(os.environ.get("STEPS") or "8")'),
        ('STEPS = int(os.environ.get("STEPS", 8))', "STEPS"),
        ('class CFG:\n    steps = int(os.getenv("STEPS", "8"))', "CFG.steps"),
    ],
)
def test_a_variable_of_the_environment_has_its_default_unless_the_launch_sets_it(kept: str, given: str) -> None:
    program = VARIABLE.format(kept, given)
    stated = [one for one in joined(program).settings if one.key == KEY]
    assert [(one.value, one.presumed) for one in stated] == [(8, True)]
    assert values(program, "STEPS=4 python train.py\n") == [("run.sh", 1, 4)]
    assert values(program, "export STEPS=2\npython train.py\n") == [("run.sh", 1, 2)]
    assert values(program, "STEPS=$1 python train.py\n") == [("run.sh", 1, None)]
    # The shell that starts the script may have set it.
    left_out = [one for one in joined(program, "python train.py\n").settings if one.key == KEY]
    assert [(one.value, one.presumed) for one in left_out] == [(8, True)]


def test_a_variable_without_a_default_says_nothing_until_it_is_set() -> None:
    program = VARIABLE.format("", 'int(os.environ["STEPS"])')
    assert [value for _, _, value in values(program)] == [None]
    assert values(program, "STEPS=4 python train.py\n") == [("run.sh", 1, 4)]


def test_the_model_may_be_named_by_a_variable() -> None:
    program = (
        "import os\nfrom transformers import AutoModelForCausalLM, Trainer\n"
        "NAME = os.getenv('MODEL', 'Qwen/Qwen3-8B')\n"
        "Trainer(AutoModelForCausalLM.from_pretrained(NAME)).train()\n"
    )
    assert [value for _, _, value in values(program, key="model.name")] == ["Qwen/Qwen3-8B"]
    launched = values(program, "MODEL=org/Llama-2-7b-hf python train.py\n", key="model.name")
    assert launched == [("run.sh", 1, "org/Llama-2-7b-hf")]


OPTIONS = """\
import argparse
def get_parser():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--accum", type=int, default=8)
    return parser
def get_args():
    return get_parser().parse_args()
"""
TRAINS = "Trainer('m', TrainingArguments('out', gradient_accumulation_steps={}.accum)).train()\n"
IMPORTS = "from transformers import Trainer, TrainingArguments\n"


@pytest.mark.parametrize(
    ("files", "given", "expected"),
    [
        ({"train.py": f"{IMPORTS}from options import get_args\no = get_args()\n{TRAINS.format('o')}"}, "", 8),
        ({"train.py": f"{IMPORTS}from options import get_args\no = get_args()\n{TRAINS.format('o')}"}, "--accum 4", 4),
        (
            {
                "train.py": f"import argparse\nimport options\n{IMPORTS}def main(args):\n    {TRAINS.format('args')}\n"
                "main(argparse.ArgumentParser(parents=[options.get_parser()]).parse_args())\n"
            },
            "",
            8,
        ),
        (
            {
                "train.py": "import argparse\nfrom loop import run\nparser = argparse.ArgumentParser()\n"
                "parser.add_argument('--accum', default=2, type=int)\nrun(parser.parse_args())\n",
                "loop.py": f"{IMPORTS}def run(args):\n    {TRAINS.format('args')}",
            },
            "",
            2,
        ),
        (
            {
                "train.py": f"{IMPORTS}from options import get_args\nargs = get_args()\nargs.accum = count()\n"
                f"{TRAINS.format('args')}"
            },
            "",
            None,
        ),
        (
            {
                "train.py": "import argparse\nfrom loop import run\nfrom options import get_args\nget_args()\n"
                "parser = argparse.ArgumentParser()\nparser.add_argument('--accum', default=2, type=int)\n"
                "run(parser.parse_args())\n",
                "loop.py": f"{IMPORTS}def run(args):\n    {TRAINS.format('args')}",
            },
            "",
            None,
        ),
        ({"train.py": f"{IMPORTS}from options import other\nargs = other()\n{TRAINS.format('args')}"}, "", None),
    ],
)
def test_options_of_another_module(tmp_path: Path, files: dict[str, str], given: str, expected: int | None) -> None:
    for name, text in {"options.py": OPTIONS, **files}.items():
        (tmp_path / name).write_text(text)
    root = root_of_folder(tmp_path, ".")
    contexts = [python_code.scan(read_document(tmp_path / "train.py", "train.py", root))]
    if given:
        contexts.append(launch_script.scan(Document("run.sh", f"python train.py {given}\n")))
    (run,) = join(contexts)
    assert [one.value for one in run.settings if one.key == KEY] == [expected]


@pytest.mark.parametrize(
    "module",
    [
        "def train(steps):\n    Trainer('m', TrainingArguments('out', gradient_accumulation_steps=steps)).train()\n",
        "def train(options):\n"
        "    Trainer('m', TrainingArguments('out', gradient_accumulation_steps=options.gas)).train()\n",
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_option_that_is_handed_to_a_function_is_that_of_its_parameter(
    tmp_path: Path, module: str, elsewhere: bool
) -> None:
    head = "from transformers import Trainer, TrainingArguments\n"
    given = "args.gas" if "steps)" in module.partition("\n")[0] else "args"
    program = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--gas', type=int, default=8)\n"
        f"args = parser.parse_args()\ntrain({given})\n"
    )
    texts = {"engine.py": head + module, "train.py": f"from engine import train\n{program}"}
    texts = texts if elsewhere else {"train.py": head + module + program}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    context = python_code.scan(read_document(tmp_path / "train.py", "train.py", root_of_folder(tmp_path, ".")))
    found = []
    for script in (None, "python train.py --gas 2\n"):
        contexts = [context] if script is None else [context, launch_script.scan(Document("run.sh", script))]
        (run,) = join(contexts)
        found.append([one.value for one in run.settings if one.key == KEY])
    assert found == [[8], [2]]
