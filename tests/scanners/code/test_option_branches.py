"""Branches of a program that options of its command line decide."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code import python_code
from gradcompat.scanners.configs import trl
from gradcompat.scanners.launches import launch_script
from gradcompat.scanners.run_assembly import join

FIELDS = """\
from dataclasses import dataclass, field
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class Arguments(TrainingArguments):
    bits: int = field(default=16)
    lora_enable: bool = False
    rank: int = field(default=8)
def train():
    (training_args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()
    config = None
    if training_args.bits in [4, 8]:
        config = BitsAndBytesConfig(load_in_4bit=True)
    model = AutoModelForCausalLM.from_pretrained(name, quantization_config=config)
    if training_args.lora_enable:
        model = get_peft_model(model, LoraConfig(r=training_args.rank))
    Trainer(model, training_args).train()
if __name__ == "__main__":
    train()
"""
ARGPARSE = """\
import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="full")
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--flash", type=bool, default=False)
parser.add_argument("--layers", type=int, default=0)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-7B")
if {test}:
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={{"use_reentrant": False}})
Trainer(model, TrainingArguments("out")).train()
"""


def told(program: str, script: str | None, *keys: str) -> dict[str, set[SettingValue | None]]:
    contexts = [python_code.scan(Document("train.py", program))]
    if script is not None:
        contexts.append(launch_script.scan(Document("run.sh", script)))
    (run,) = join(contexts)
    of_program = [one for one in run.settings if one.location.path == "train.py"]
    return {key: {one.value for one in of_program if one.key == key} for key in keys}


@pytest.mark.parametrize(
    ("options", "bits", "method"),
    [
        ("", {16}, {"none"}),
        ("--bits 4", {4}, {"none"}),
        ("--bits=16 --lora_enable True", {16}, {"lora"}),
        ("--bits $BITS --lora_enable", {None}, {"lora"}),
        ("--no_lora_enable", {16}, {"none"}),
        ("--lora_enable $LORA", {16}, {None}),
        ('"$@"', {None}, {None}),
    ],
)
def test_a_field_decides_what_its_branch_sets(
    options: str, bits: set[SettingValue | None], method: set[SettingValue | None]
) -> None:
    found = told(FIELDS, f"torchrun train.py --learning_rate 1e-4 {options}\n", "quantization.bits", "peft.method")
    assert found == {"quantization.bits": bits, "peft.method": method}


def test_without_a_launch_nothing_is_taken_from_a_branch() -> None:
    assert told(FIELDS, None, "quantization.bits", "peft.method") == {
        "quantization.bits": {None},
        "peft.method": {None},
    }


def test_without_a_launch_what_the_default_takes_is_presumed() -> None:
    program = python_code.scan(
        Document("train.py", FIELDS.replace("lora_enable: bool = False", "lora_enable: bool = True"))
    )
    (run,) = join([program])
    assert [(one.value, one.presumed) for one in run.settings if one.key == "peft.method"] == [("lora", True)]


def test_launches_that_go_different_ways_leave_it_open() -> None:
    script = "torchrun train.py --lora_enable True\ntorchrun train.py --lora_enable False\n"
    assert told(FIELDS, script, "peft.method") == {"peft.method": {None}}


def test_an_option_that_the_program_sets_itself_decides_nothing() -> None:
    program = FIELDS.replace("    config = None\n", "    config = None\n    training_args.lora_enable = found()\n")
    assert told(program, "torchrun train.py --lora_enable True\n", "peft.method") == {"peft.method": {None}}


@pytest.mark.parametrize(
    ("test", "options", "taken"),
    [
        ("args.mode == 'full'", "", True),
        ("args.mode == 'full'", "--mode lora", False),
        ("args.mode != 'full'", "--mode lora", True),
        ("args.mode in ('lora', 'qlora')", "--mode lora", True),
        ("args.mode not in ['lora']", "--mode lora", False),
        ("args.checkpoint", "--checkpoint", True),
        ("args.checkpoint", "", False),
        ("not args.checkpoint", "", True),
        ("args.checkpoint and fits()", "", False),
        ("args.checkpoint and fits()", "--checkpoint", None),
        ("args.checkpoint or args.mode == 'full'", "", True),
        ("args.flash", "--flash False", None),
        ("args.flash", "--flash True", True),
        ("args.mode is not None", "--mode $1", None),
        ("args.mode.startswith('fu')", "", True),
        ("args.mode.startswith('lo')", "", False),
        ("args.mode.startswith(('lo', 'qlo'))", "--mode qlora", True),
        ("args.mode.startswith('lo')", "--mode $1", None),
        ("args.mode.startswith('lo', 1)", "", None),
        ("args.layers > 0", "", False),
        ("args.layers > 0", "--layers 2", True),
        ("args.layers >= 2", "--layers 2", True),
        ("args.layers < 2", "--layers 2", False),
        ("args.layers <= 2", "--layers 2", True),
        ("args.layers > 0", "--layers $1", None),
        ("args.layers > count", "--layers 2", None),
        ("fits()", "", None),
    ],
)
def test_conditions(test: str, options: str, taken: bool | None) -> None:
    key = "training.use_reentrant"
    script = f"python train.py --learning_rate 1e-4 {options}\n"
    expected: dict[bool | None, set[SettingValue | None]] = {True: {False}, False: set(), None: {None}}
    assert told(ARGPARSE.format(test=test), script, key) == {key: expected[taken]}


def test_a_branch_in_another_condition_is_as_unknown_as_that() -> None:
    program = (
        ARGPARSE.format(test="args.checkpoint")
        .replace("if args", "if fits():\n  if args")
        .replace("    model.g", "      model.g")
    )
    key = "training.use_reentrant"
    assert told(program, "python train.py --learning_rate 1e-4 --checkpoint\n", key) == {key: {None}}


TWO_CLASSES = """\
import argparse
from transformers import Qwen2VLForConditionalGeneration, Qwen2_5_VLForConditionalGeneration, Trainer
parser = argparse.ArgumentParser()
parser.add_argument("--base")
args = parser.parse_args()
if "2.5" in args.base:
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(args.base)
else:
    model = Qwen2VLForConditionalGeneration.from_pretrained(args.base)
Trainer(model).train()
"""
QWEN2_VL, QWEN2_5_VL = ("Qwen2VLForConditionalGeneration",), ("Qwen2_5_VLForConditionalGeneration",)


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("Qwen/Qwen2.5-VL-3B-Instruct", {QWEN2_5_VL}),
        ("Qwen/Qwen2-VL-2B-Instruct", {QWEN2_VL}),
        ("./checkpoints/mine", {QWEN2_VL, QWEN2_5_VL}),
        ("google/gemma-2b", {QWEN2_VL, QWEN2_5_VL}),
        ("$1", {QWEN2_VL, QWEN2_5_VL}),
    ],
)
def test_of_several_classes_the_name_of_the_model_settles_one(name: str, classes: set[SettingValue | None]) -> None:
    key = "model.architecture"
    assert told(TWO_CLASSES, f"python train.py --learning_rate 1e-4 --base {name}\n", key) == {key: classes}


CHOOSING = """
import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--flash", action="store_true")
parser.add_argument("--mode", default="fast")
args = parser.parse_args()
{before}
model = AutoModelForCausalLM.from_pretrained("gpt2", attn_implementation={chosen})
Trainer(model, TrainingArguments("out"), train_dataset=data).train()
"""


@pytest.mark.parametrize(
    ("chosen", "options", "expected"),
    [
        ('"flash_attention_2" if args.flash else "sdpa"', "--flash", {"flash_attention_2"}),
        ('"flash_attention_2" if args.flash else "sdpa"', "", {"sdpa"}),
        ('"sdpa" if not args.flash else "flash_attention_2"', "--flash", {"flash_attention_2"}),
        ('"flash_attention_2" if args.flash else None', "", set()),
        ('"flash_attention_2" if args.mode == "fast" else "eager"', "", {"flash_attention_2"}),
        ('"flash_attention_2" if args.mode == "fast" else "eager"', "--mode exact", {"eager"}),
        ('"flash_attention_2" if args.mode == "fast" else "eager"', "--mode $MODE", {None}),
        ('"flash_attention_2" if supported() else "eager"', "--flash", {None}),
        ('"flash_attention_2" if args.flash else found()', "", {None}),
    ],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_an_option_decides_between_two_values(
    chosen: str, options: str, expected: set[SettingValue | None], by_name: bool
) -> None:
    key = "model.attn_implementation"
    program = CHOOSING.format(before=f"attn = {chosen}" if by_name else "", chosen="attn" if by_name else chosen)
    assert told(program, f"python train.py {options}\n", key) == {key: expected}


def test_without_a_launch_the_value_of_the_default_is_presumed() -> None:
    program = CHOOSING.format(before="", chosen='"flash_attention_2" if args.flash else "sdpa"')
    (run,) = join([python_code.scan(Document("train.py", program))])
    assert [(one.value, one.presumed) for one in run.settings if one.key == "model.attn_implementation"] == [
        ("sdpa", True)
    ]


OF_TRL = """\
from peft import LoraConfig
from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser
training_args, model_args = TrlParser((SFTConfig, ModelConfig)).parse_args_and_config()
config = None
if model_args.use_peft:
    config = LoraConfig(lora_dropout=0.1)
SFTTrainer("gpt2", args=training_args, peft_config=config).train()
"""


@pytest.mark.parametrize(
    ("options", "config", "dropout"),
    [
        ("--use_peft", None, {0.1}),
        ("--output_dir out", None, set()),
        ("--config sft.yaml", "use_peft: true\n", {0.1}),
        ("--config sft.yaml", "use_peft: false\n", set()),
        ("--config sft.yaml --use_peft", "bf16: true\n", {0.1}),
    ],
)
def test_a_switch_of_trls_own_dataclass_decides_a_branch(
    options: str, config: str | None, dropout: set[SettingValue | None]
) -> None:
    contexts = [
        launch_script.scan(Document("run.sh", f"python train.py {options}\n")),
        python_code.scan(Document("train.py", OF_TRL)),
    ]
    if config is not None:
        head = "model_name_or_path: gpt2\ngradient_accumulation_steps: 8\nper_device_train_batch_size: 2\n"
        contexts.append(trl.scan(Document("sft.yaml", head + config)))
    (run,) = join(contexts)
    assert {one.value for one in run.settings if one.key == "peft.dropout"} == dropout
