"""What a program leaves to the defaults of its tools: only what no line of it could set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcompat.formats.document import Document
from gradcompat.model.context import Context, Unset
from gradcompat.model.environment import Location
from gradcompat.scanners.code import notebook_code
from gradcompat.scanners.code.python_code import scan
from gradcompat.scanners.run_assembly import join
from gradcompat.terms.defaults import DEFAULTS, Default

TRAINER = """\
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("facebook/opt-125m")
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"]))
arguments = TrainingArguments(output_dir="out", gradient_checkpointing=True)
Trainer(model=model, args=arguments).train()
"""
OF_ARGUMENTS = {
    "training.gradient_accumulation_steps",
    "training.use_reentrant",
    "optimizer.weight_decay",
    "distributed.sync_each_batch",
    "training.label_names",
}
OF_ADAPTER = {"peft.layers_to_transform", "peft.trainable_tokens", "peft.names_task", "peft.dropout"}
OF_TRAIN = {"training.resume_from_checkpoint"}
ALL = OF_ARGUMENTS | OF_ADAPTER | OF_TRAIN

ACCELERATE = """\
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="bf16")
for batch in loader:
    accelerator.backward(model(batch).loss)
    optimizer.step()
"""


def of_text(text: str) -> Context:
    return scan(Document("train.py", text))


def keys(text: str) -> set[str]:
    return {one.key for one in of_text(text).unset}


def test_a_program_that_leaves_out_all() -> None:
    lines = dict.fromkeys(OF_ARGUMENTS, 6) | dict.fromkeys(OF_ADAPTER, 5) | dict.fromkeys(OF_TRAIN, 7)
    assert {one.key: one.location.line for one in of_text(TRAINER).unset} == lines
    assert of_text(TRAINER).unset[0] == Unset(
        of="transformers.TrainingArguments",
        key="training.gradient_accumulation_steps",
        location=Location(path="train.py", line=6, column=13),
    )


def test_a_loop_of_accelerate() -> None:
    assert keys(ACCELERATE) == {"training.gradient_accumulation_steps", "distributed.sync_each_batch"}
    assert keys(ACCELERATE.replace('mixed_precision="bf16"', "**options")) == set()


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        # The call is not written out, or there is one more that is not.
        ('output_dir="out"', 'output_dir="out", **options', OF_ARGUMENTS),
        ('output_dir="out"', '*options, output_dir="out"', OF_ARGUMENTS),
        ('output_dir="out"', '"out", True', OF_ARGUMENTS),
        ("arguments =", "other = TrainingArguments(**options)\narguments =", OF_ARGUMENTS),
        ("LoraConfig(r=8,", "LoraConfig(**options,", OF_ADAPTER),
        # It is said, here or in a place that nobody follows.
        ('output_dir="out"', 'output_dir="out", weight_decay=0.1', {"optimizer.weight_decay"}),
        ("Trainer(model", "arguments.weight_decay = 0.1\nTrainer(model", {"optimizer.weight_decay"}),
        ("Trainer(model", 'options = {"layers_to_transform": [1]}\nTrainer(model', {"peft.layers_to_transform"}),
        ("args=arguments", "args=arguments, optimizers=(one, None)", {"optimizer.weight_decay"}),
        (
            'output_dir="out"',
            'output_dir="out", deepspeed="ds.json"',
            {"training.gradient_accumulation_steps", "optimizer.weight_decay"},
        ),
        ('facebook/opt-125m"', 'm", trust_remote_code=True', {"training.use_reentrant"}),
        ("train()", "train(True)", OF_TRAIN),
        ("train()", "train(*options)", OF_TRAIN),
        ("Trainer(model", "model.train(False)\nTrainer(model", OF_TRAIN),
        # What is made may be made otherwise.
        ("arguments =", "class Own(TrainingArguments):\n    pass\narguments =", OF_ARGUMENTS),
        ("arguments =", "class Own(LoraConfig):\n    pass\narguments =", OF_ADAPTER),
        ("arguments =", 'import peft\npeft.PeftModel.from_pretrained(model, "a")\narguments =', OF_ADAPTER),
        ("arguments =", "import peft\npeft.AdaLoraConfig(r=8)\narguments =", OF_ADAPTER),
        (
            "model = A",
            "try:\n    from mine import TrainingArguments\nexcept ImportError:\n    pass\nmodel = A",
            OF_ARGUMENTS,
        ),
        # Somebody else drives the loop, beside it or instead.
        ("arguments =", "import trl\ntrl.SFTTrainer(model)\narguments =", OF_ARGUMENTS | OF_TRAIN),
        ("arguments =", "import torch\nloss.backward()\noptimizer.step()\narguments =", OF_ARGUMENTS | OF_TRAIN),
        # The program cannot be seen as a whole.
        ("arguments =", "from . import helpers\narguments =", ALL),
        ("arguments =", "from helpers import *\narguments =", ALL),
        ("arguments =", "import unsloth\narguments =", ALL),
        # A parser fills the Trainer's arguments, and no adapter's that is written out.
        (
            "arguments =",
            "parser = transformers.HfArgumentParser(TrainingArguments)\narguments =",
            OF_ARGUMENTS | OF_TRAIN,
        ),
        ("arguments =", "setattr(arguments, name, value)\narguments =", ALL),
        ("arguments =", "vars()\narguments =", ALL),
        # It trains nothing.
        ("Trainer(model=model, args=arguments).train()", "", ALL),
    ],
)
def test_what_makes_it_doubtful(before: str, after: str, lost: set[str]) -> None:
    assert before in TRAINER
    assert keys(TRAINER.replace(before, after)) == ALL - lost


@pytest.mark.parametrize("default", DEFAULTS, ids=lambda default: f"{default.of[0]}:{default.key}")
def test_each_phrase_makes_its_default_doubtful(default: Default) -> None:
    text = ACCELERATE if default.of == ("accelerate.Accelerator",) else TRAINER
    assert default.key in keys(text)
    for phrase in default.phrases:
        assert default.key not in keys(f"{text}\nnotes = '{phrase}'\n"), phrase


def test_in_a_branch_it_is_left_out_as_well() -> None:
    text = TRAINER.replace(
        "arguments = ", 'if fast:\n    arguments = TrainingArguments("fast")\nelse:\n    arguments = '
    )
    assert keys(text) == ALL


def test_a_module_of_the_project_may_do_anything(tmp_path: Path) -> None:
    document = Document("train.py", f"import helpers\nfrom . import more\n{TRAINER}", file=tmp_path / "train.py")
    (tmp_path / "helpers.py").write_text("import torch\n")
    assert scan(document).unset == ()  # `more` is not there
    (tmp_path / "more.py").write_text("")
    assert {one.key for one in scan(document).unset} == ALL
    (tmp_path / "more.py").write_text("def change(arguments):\n    arguments.gradient_accumulation_steps = 8\n")
    assert "training.gradient_accumulation_steps" not in {one.key for one in scan(document).unset}


def notebook(*cells: str) -> Context:
    content = {
        "nbformat": 4,
        "cells": [{"cell_type": "code", "source": [cell], "outputs": []} for cell in cells],
    }
    return notebook_code.scan(Document("train.ipynb", json.dumps(content)))


def test_a_notebook_of_which_every_cell_was_read() -> None:
    assert {one.key for one in notebook("import torch", TRAINER).unset} == ALL
    assert notebook("no Python at all", TRAINER).unset == ()


def test_beside_another_file_only_the_adapter_is_left_out_for_sure() -> None:
    program = of_text(TRAINER)
    script = Context(source="run.sh", kind="launch-script", settings=(), run=True, refers_to=("train.py",))
    part = Context(source="ds.json", kind="deepspeed", settings=(), run=False)
    assert [one.unset == program.unset for one in join([program])] == [True]
    of_adapter = tuple(one for one in program.unset if one.key in OF_ADAPTER)
    assert len(of_adapter) == len(OF_ADAPTER)
    assert [one.unset for one in join([script, program])] == [of_adapter]
    assert [one.unset for one in join([program, part], together=True)] == [of_adapter]
    assert [one.unset == program.unset for one in join([program, part])] == [True]
