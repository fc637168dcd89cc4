"""Programs: Python, notebooks and launch scripts."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from fuzz.canaries import CANARIES
from fuzz.grammars import requirements
from fuzz.grammars.words import NUMBERS, amount, chance, many, odd, pick, secret_line, text, url

CALLS = (
    "TrainingArguments",
    "SFTConfig",
    "LoraConfig",
    "Accelerator",
    "torch.compile",
    "get_peft_model",
    "torch.optim.AdamW",
)
ARGUMENTS = (
    *(
        "gradient_accumulation_steps",
        "gradient_checkpointing",
        "bf16",
        "use_reentrant",
        "deepspeed",
        "packing",
        "optim",
    ),
    *("output_dir", "attn_implementation", "label_smoothing_factor", "modules_to_save", "max_grad_norm", "fsdp"),
)
IMPORTS = (
    "from transformers import TrainingArguments, Trainer, AutoModelForCausalLM\n",
    "from trl import SFTConfig, SFTTrainer as T\n",
    "import torch, accelerate\n",
    "from peft import LoraConfig, get_peft_model\n",
    "from accelerate import Accelerator\n",
    "import transformers as transformers\n",
    "from transformers import *\n",
    "from . import other\n",
    "import helper.module\n",
)


def expression(random: Random, depth: int = 0) -> str:
    """An expression of Python, rarely one that is too deep for a parser."""
    draw = random.random()
    if depth > 4 or draw < 0.4:
        return pick(random, ("True", "None", "steps", "args.steps", "cfg['a']", *NUMBERS[:4], repr(text(random))))
    if draw < 0.402:
        deep = pick(random, (50, 150, 3000, 50_000))
        return pick(
            random,
            ("(" * deep + "1" + ")" * deep, "-" * deep + "1", "+".join("1" for _ in range(deep)), "a" + ".b" * deep),
        )
    inner = expression(random, depth + 1)
    other = expression(random, depth + 1)
    return pick(
        random,
        (
            f"{inner} if {other} else 1",
            f"[{inner}, {other}]",
            f"{{'a': {inner}, **{other}}}",
            f"f'{{steps}}{{{depth}}}'",
            f"({inner} or {other})",
            f"lambda x=1: {inner}",
            f"[x for x in {inner}]",
            call(random, depth + 1),
            f"int({inner})",
            f"(y := {inner})",
        ),
    )


def call(random: Random, depth: int = 0) -> str:
    """A call that configures a training, or any other."""
    arguments = [f"{pick(random, ARGUMENTS)}={expression(random, depth + 1)}" for _ in range(amount(random, 4) % 30)]
    if chance(random, 0.2):
        arguments.append(
            pick(
                random, ("**kwargs", "*args", "**{'bf16': True}", "**vars(args)", f"**{expression(random, depth + 1)}")
            )
        )
    return f"{pick(random, CALLS) if chance(random, 0.8) else 'other.' + 'a.' * amount(random) + 'b'}({', '.join(dict.fromkeys(arguments))})"


def statement(random: Random, depth: int = 0) -> str:
    """One statement, with its line end."""
    pad = "    " * depth
    draw = random.random()
    if draw < 0.35:
        return f"{pad}{pick(random, ('args', 'steps', 'model', 'a, b', 'args.bf16', 'kwargs[chr(1)]'))} = {expression(random)}\n"
    if draw < 0.6 or depth > 5:
        return f"{pad}{call(random)}\n"
    if draw < 0.7:
        return pad + pick(random, IMPORTS)
    if draw < 0.75:
        return (
            pad
            + pick(
                random,
                (
                    f"# {odd(random)}",
                    secret_line(random, quoted=True),
                    f"login({CANARIES['argument']!r})",
                    "global x",
                    "await y",
                ),
            )
            + "\n"
        )
    head = pick(
        random,
        (
            "if args.x:",
            "for i in range(8):",
            "def f(x, *a, b=1, **k):",
            "class M(LightningModule):",
            "try:",
            "with torch.autocast('cuda'):",
            "while True:",
            "if __name__ == '__main__':",
            "match x:",
            "async def g():",
        ),
    )
    body = "".join(statement(random, depth + 1) for _ in range(1 + int(random.random() * 3)))
    if head == "try:":
        body += f"{pad}except Exception:\n{pad}    pass\n"
    if head == "match x:":
        body = f"{pad}    case {{'a': y}}:\n" + "".join("    " + line for line in body.splitlines(keepends=True))
    return pad + head + "\n" + body


def python(random: Random) -> str:
    """A program that trains; rarely with inline metadata, or nested too deeply."""
    parts = []
    if chance(random, 0.1):
        listed = "".join(f'#   "{requirements.requirement(random)}",\n' for _ in range(amount(random, 3)))
        parts.append(f"# /// script\n# dependencies = [\n{listed}# ]\n# ///\n")
    parts += [pick(random, IMPORTS) for _ in range(3)]
    parts += [statement(random) for _ in range(amount(random, 8))]
    if chance(random, 0.02):
        deep = pick(random, (20, 95, 200, 2000))
        parts += ["".join("    " * 0 + " " * one + "if x:\n" for one in range(deep)), " " * deep + "bf16 = True\n"]
    return "".join(parts)


def notebook(random: Random) -> str:
    """A notebook with cells of installation and training."""
    cells: list[Any] = []
    for _ in range(amount(random, 6) % 60):
        source = pick(
            random,
            (
                python(random),
                f"!pip install {requirements.requirement(random)}",
                f"%pip install -q {requirements.requirement(random)} \\\n  {requirements.requirement(random)}",
                f"!pip install --index-url {url(random)} torch",
                f"%%bash\n{shell(random)}",
                "%%capture\n!pip install -U transformers==4.49.0",
                f"%env {secret_line(random)}",
                odd(random),
            ),
        )
        cell: dict[str, Any] = {
            "cell_type": pick(random, ("code", "code", "code", "markdown", odd(random))),
            "metadata": {},
        }
        cell["source"] = source if chance(random, 0.5) else source.splitlines(keepends=True)
        if chance(random, 0.1):
            cell[pick(random, ("source", "cell_type", "outputs"))] = pick(random, (None, 3, [1], {"a": 1}))
        cells.append(cell)
    data: dict[str, Any] = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"version": "3.11"}},
        "cells": cells,
    }
    if chance(random, 0.05):
        data[pick(random, list(data))] = pick(random, (None, "x", [], {"a": 1}))
    return json.dumps(data)


def argument(random: Random) -> str:
    """An argument of a command line."""
    draw = random.random()
    if draw < 0.6:
        return f"--{pick(random, ARGUMENTS)} {pick(random, ('True', '8', '$STEPS', '${X:-4}', '$(nproc)', chr(39) + 'a b' + chr(39), *NUMBERS[:6]))}"
    return pick(
        random,
        (
            "--config_file accelerate.yaml",
            "--deepspeed ds.json",
            "train.yaml",
            "trainer.devices=4",
            "+model=llava",
            f"--token {CANARIES['argument']}",
            f"--hub_token={CANARIES['argument']}",
            f"--model_name_or_path {url(random)}",
            f"--{odd(random)}",
            odd(random),
            '"$@"',
            "2>&1 | tee log",
        ),
    )


def shell(random: Random) -> str:
    """A launch script."""
    lines = ["#!/bin/bash\n"]
    for _ in range(amount(random, 8)):
        lines.append(
            pick(
                random,
                (
                    f"export {secret_line(random)}\n",
                    f"STEPS={pick(random, NUMBERS)}\n",
                    f"X=${{Y:-{odd(random)}}}\n",
                    f"torchrun --nproc_per_node 8 train.py {many(random, argument, ' ')}\n",
                    f"accelerate launch --config_file accelerate.yaml train.py {many(random, argument, ' ')}\n",
                    f"deepspeed train.py \\\n  {many(random, argument, ' ' + chr(92) + chr(10) + '  ')}\n",
                    f"python -m trl.scripts.sft {many(random, argument, ' ')}\n",
                    f"llamafactory-cli train train.yaml {many(random, argument, ' ')}\n",
                    f"for i in 1 2 3; do python train.py {argument(random)}; done\n",
                    f"if [ -z $X ]; then {argument(random)}\n",
                    f"cat <<EOF > ds.json\n{odd(random)}\nEOF\n",
                    f"wandb login {CANARIES['argument']}\n",
                    f"$({'$(' * pick(random, (1, 50, 5000))}\n",
                    f"python train.py {'{a,b}' * pick(random, (1, 10, 40))}\n",
                    f"# {odd(random)}\n",
                    f"'{odd(random)}\n",
                ),
            )
        )
    return "".join(lines)
