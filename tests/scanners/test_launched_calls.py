"""Calls whose arguments are options of the program's own command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.calls import read_call
from gradcompat.formats.document import Document
from gradcompat.scanners.python_code import scan
from gradcompat.symbol_patterns import by_defaults
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


def test_a_value_that_has_no_default_is_one_that_cannot_be_read() -> None:
    program = _PROGRAM.format(default="8").replace("default=8", "required=True")
    assert not any("_option('ema" in line for line in calls(program))


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
