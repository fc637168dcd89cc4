"""Calls whose arguments are options of the program's own command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan
from gradcompat.terms.calls import read_call
from gradcompat.terms.symbol_patterns import by_defaults, truth_of_use
from gradcompat.truth import Truth

_PROGRAM = """\
import argparse
import lightning as L
from lightning.pytorch.callbacks import EMAWeightAveraging
parser = argparse.ArgumentParser()
parser.add_argument("--ema-start", type=int, default={default})
parser.add_argument("--decay", type=float, default=0.99)
args = parser.parse_args()
class Model(L.LightningModule):
    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()
L.Trainer(callbacks=[EMAWeightAveraging(decay=args.decay, update_starting_at_step=args.ema_start)]).fit(Model())
"""
_ID = "GC-0860"


def calls(program: str) -> list[str]:
    settings = scan(Document("train.py", program)).settings
    return [str(line) for one in settings if one.key == "code.calls" for line in one.value or ()]  # type: ignore[union-attr]


def findings(folder: Path, default: str, launch: str | None) -> list[tuple[str, list[str]]]:
    (folder / "requirements.txt").write_text("torch==2.9.1\nlightning==2.6.0\n", "utf-8")
    (folder / "train.py").write_text(_PROGRAM.format(default=default), "utf-8")
    if launch is not None:
        (folder / "run.sh").write_text(f"{launch}\n", "utf-8")
    found = gradcompat.check(folder, only=[_ID]).findings
    return [(one.finding.status, [assumed.sentence for assumed in one.finding.assumed]) for one in found]


def test_an_option_stands_in_the_line_with_its_default() -> None:
    (line,) = [line for line in calls(_PROGRAM.format(default="8")) if "EMA" in line]
    steps = read_call(line).named["update_starting_at_step"]
    assert (steps.shown, steps.default) == ("ema_start", 8)  # type: ignore[union-attr]
    assert str(read_call(line)) == line


@pytest.mark.parametrize(
    ("default", "launch", "expected"),
    [
        ("1000", None, [("affected", ["the command leaves the option ema_start at its default, 1000"])]),
        ("None", None, [("dormant", [])]),
        ("1000", "python train.py", [("affected", [])]),
        ("None", "python train.py", []),
        ("1000", "python train.py --ema-start 0", []),
        ("None", "python train.py --ema-start 500", [("affected", [])]),
        ("None", "python train.py $ARGUMENTS", [("affected", [])]),
    ],
)
def test_the_command_says_what_the_call_gets(
    tmp_path: Path, default: str, launch: str | None, expected: list[tuple[str, list[str]]]
) -> None:
    assert findings(tmp_path, default, launch) == expected


@pytest.mark.parametrize("without", ["required=True", "help='from here on'"])
def test_an_option_without_a_default_counts_as_what_is_asked_for_until_a_launch_is_seen(
    tmp_path: Path, without: str
) -> None:
    program = _PROGRAM.replace("default={default}", without)
    (line,) = [line for line in calls(program) if "EMA" in line]
    assert "_option('ema_start')" in line
    assert truth_of_use((line,), ("*EMAWeightAveraging() if update_starting_at_step > 1",)) is Truth.YES
    (tmp_path / "requirements.txt").write_text("torch==2.9.1\nlightning==2.6.0\n", "utf-8")
    (tmp_path / "train.py").write_text(program, "utf-8")
    told = []
    for words in ("--ema-start 0", "--ema-start 500", ""):
        (tmp_path / "run.sh").write_text(f"python train.py {words}\n", "utf-8")
        told.append([one.finding.status for one in gradcompat.check(tmp_path, only=[_ID]).findings])
    assert told == [[], ["affected"], []]


_PARSING = """\
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
(training_args,) = HfArgumentParser({classes}).parse_args_into_dataclasses()
Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=training_args, train_dataset=data()).train()
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--output_dir out --data_seed 7", ["affected"]),
        ("--output_dir out --data_seed 7 --seed 7", []),
        ("--output_dir out --seed 7", []),
        ("--output_dir out --data_seed $SEED", ["affected"]),
    ],
)
def test_a_parser_of_dataclasses_calls_them_with_what_the_command_says(
    tmp_path: Path, words: str, expected: list[str]
) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.2.0\ntransformers==4.40.0\n", "utf-8")
    (tmp_path / "train.py").write_text(_PARSING.format(classes="TrainingArguments"), "utf-8")
    (tmp_path / "run.sh").write_text(f"python train.py {words}\n", "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0808"]).findings] == expected


def test_the_options_that_decide_are_named() -> None:
    line = "f(_option('a', default=1), b=_option('b', default=2))"
    assert by_defaults(line, ["f(a) if b > 1"]) == ((("b", 2),), Truth.YES)
    assert by_defaults(line, ["f(a) if b > a"]) == ((("a", 1), ("b", 2)), Truth.YES)
    assert by_defaults(line, ["f(a) if b is None"]) == ((("b", 2),), Truth.NO)
    assert by_defaults(line, ["f(a)"]) is None
    assert by_defaults("f(1)", ["f(a) if a > 1"]) is None


def test_a_secret_option_stays_in_the_program() -> None:
    program = _PROGRAM.replace("--ema-start", "--api-key").replace("ema_start", "api_key").format(default="'abcdef'")
    assert not any("abcdef" in line for line in calls(program))


_TRL_CONFIG = "model_name_or_path: Qwen/Qwen2-0.5B\noutput_dir: out\nper_device_train_batch_size: 2\ndata_seed: 7\n"


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("trl reward --model_name_or_path Qwen/Qwen2-0.5B --data_seed 7", ["affected"]),
        ("trl sft --model_name_or_path Qwen/Qwen2-0.5B --data_seed 7", ["affected"]),
        ("trl dpo --config dpo.yaml", ["affected"]),
        ("trl dpo --config dpo.yaml --data_seed 42", ["dormant"]),  # which is the seed
        ("trl sft --model_name_or_path Qwen/Qwen2-0.5B", ["dormant"]),
    ],
)
def test_a_command_of_trls_makes_a_config_of_its_options(tmp_path: Path, launch: str, expected: list[str]) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.45.2\ntrl==0.12.0\ntorch==2.5.0\n", "utf-8")
    (tmp_path / "run.sh").write_text(f"{launch}\n", "utf-8")
    if "dpo.yaml" in launch:
        (tmp_path / "dpo.yaml").write_text(_TRL_CONFIG, "utf-8")
    found = gradcompat.check(tmp_path, only=["GC-0808"]).findings
    assert [one.finding.status for one in found] == expected
