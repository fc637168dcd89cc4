"""Parameters of functions that a command line gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.runs import in_folder
from gradcompat.files.root import root_of_folder
from gradcompat.scanners.run_assembly import assemble
from gradcompat.terms.calls import OptionValue, read_call

HEAD = "from transformers import Trainer, TrainingArguments\n"
BODY = (
    "    args = TrainingArguments('out', gradient_accumulation_steps={steps}, data_seed={seed})\n"
    "    Trainer(model=model, args=args).train()\n"
)
PLAIN = BODY.format(steps="steps", seed="seed")
TYPER = (
    f"{HEAD}import typer\napp = typer.Typer()\n@app.command()\ndef main(steps: int = 8, seed: int = 3):\n{PLAIN}app()\n"
)
PROGRAMS = {
    "typer": TYPER,
    "typer.Option": TYPER.replace("int = 8", 'int = typer.Option(8, "--steps", "-s")'),
    "typer.run": f"{HEAD}import typer\ndef main(steps: int = 8, seed: int = 3):\n{PLAIN}typer.run(main)\n",
    "click": (
        f"{HEAD}import click\n@click.command()\n@click.option('--steps', '-s', default=8)\n"
        f"@click.option('--seed', default=3, type=int)\ndef main(steps, seed):\n{PLAIN}main()\n"
    ),
    "fire": (
        f"{HEAD}import fire\ndef main(steps=8, *, seed=3):\n{PLAIN}if __name__ == '__main__':\n    fire.Fire(main)\n"
    ),
    "tyro": f"{HEAD}import tyro\ndef main(steps: int = 8, seed: int = 3):\n{PLAIN}tyro.cli(main)\n",
    "tyro of a dataclass": (
        f"{HEAD}import tyro\nfrom dataclasses import dataclass\n@dataclass\nclass Config:\n    steps: int = 8\n"
        f"    seed: int = 3\ndef main(config: Config):\n{BODY.format(steps='config.steps', seed='config.seed')}"
        "main(tyro.cli(Config))\n"
    ),
}


def steps_and_calls(folder: Path, program: str, launch: str | None) -> tuple[list[tuple[object, bool]], list[str]]:
    (folder / "train.py").write_text(program)
    if launch is not None:
        (folder / "run.sh").write_text(f"{launch}\n")
    (run,) = assemble(in_folder(folder, ".", root_of_folder(folder, "."))[0]).runs
    steps = [one for one in run.settings if one.key == "training.gradient_accumulation_steps"]
    calls = [one.value for one in run.settings if one.key == "code.calls"]
    lines = [str(line) for value in calls if isinstance(value, tuple) for line in value]
    return [(one.value, one.presumed) for one in steps], [line for line in lines if "TrainingArguments(" in line]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_parameter_has_its_default_unless_a_launch_gives_it(tmp_path: Path, program: str) -> None:
    steps, (line,) = steps_and_calls(tmp_path, program, None)
    given = read_call(line).named
    assert steps == [(8, True)]
    assert [(one.shown, one.default) for one in given.values() if isinstance(one, OptionValue)] == [
        ("steps", 8),
        ("seed", 3),
    ]
    told = steps_and_calls(tmp_path, program, "python train.py --steps 2")
    assert told == ([(2, False)], ["transformers.TrainingArguments('out', gradient_accumulation_steps=2, data_seed=3)"])


@pytest.mark.parametrize(
    "program",
    [
        f"{HEAD}def main(steps=8, seed=3):\n{PLAIN}main(4)\nmain(2)\n",
        f"{HEAD}import fire\ndef main(steps=8, seed=3):\n    steps = steps * 2\n{PLAIN}fire.Fire(main)\n",
        f"{HEAD}import click\n@click.command()\n@click.option('--steps', default=8, callback=twice)\n"
        f"def main(steps, seed):\n{PLAIN}main()\n",
    ],
)
def test_what_is_no_option_or_is_changed_is_not_read(tmp_path: Path, program: str) -> None:
    assert steps_and_calls(tmp_path, program, None)[0] == [(None, False)]
