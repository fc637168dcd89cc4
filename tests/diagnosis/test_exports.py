"""Files made for programs: the Trainer's state, tables, JSON lines."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.diagnosis import exports
from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Location, Skipped

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def read(text: str, kind: exports.Kind) -> list[exports.Point | Skipped]:
    assert exports.recognise(text[:4000]) == kind
    return list(exports.read(Document("x", text), kind))


def test_a_trainers_state() -> None:
    text = (LOGS / "trainer_state-5.23.0-masked-nan.json").read_text("utf-8")
    points = [point for point in read(text, "json") if not isinstance(point, Skipped)]
    assert len(points) == 20
    assert points[0] == (
        {
            "epoch": 0.05,
            "grad_norm": 1.5361411571502686,
            "learning_rate": 0.0,
            "loss": 4.215814113616943,
            "step": 1.0,
        },
        12,
    )
    values, line = points[6]
    assert values["loss"] == 0.0
    assert math.isnan(values["grad_norm"])
    assert '"grad_norm": NaN' in "".join(text.splitlines(keepends=True)[line - 1 : line + 3])


def test_a_table_of_lightning() -> None:
    text = (LOGS / "lightning-2.6.6-metrics.csv").read_text("utf-8")
    points = read(text, "csv")
    assert points[:3] == [
        ({"learning_rate": 0.03333333333333333, "step": 0.0}, 2),
        ({"epoch": 0.0, "step": 1.0, "loss": 1.7598598003387451}, 3),
        ({"epoch": 0.0, "step": 3.0, "loss": 1.5934526920318604}, 4),
    ]
    assert len(points) == 36  # not the rows of validation


def test_a_chart_of_wandb() -> None:
    text = (
        '"Step","one - train/loss","one - train/loss__MIN","one - train/loss__MAX","two - train/loss"\r\n'
        '"1","2.5","2.5","2.5","9"\r\n"2","NaN","","","8"\r\n"3","","","","7"\r\n'
    )
    points = read(text, "csv")
    assert points[:2] == [
        Skipped(what="two", reason="another run of the same table", gap=True, location=Location(path="x", line=1)),
        ({"step": 1.0, "loss": 2.5}, 2),
    ]
    assert isinstance(points[2], tuple)
    assert math.isnan(points[2][0]["loss"])
    assert len(points) == 3


def test_a_history_of_wandb() -> None:
    rows = [
        {"_step": 0, "train/loss": 2.0, "train/global_step": 10, "_timestamp": 1.5, "eval/loss": 3},
        {"_step": 1, "train/loss": None, "eval/loss": 2.5},
        {"_step": 2, "train/loss": "NaN", "train/grad_norm": "Infinity"},
    ]
    points = read(json.dumps(rows, indent=1), "json")
    assert points[0] == ({"loss": 2.0, "step": 10.0}, 2)
    assert isinstance(points[1], tuple)
    assert (str(points[1][0]["loss"]), points[1][0]["grad_norm"], points[1][1]) == ("nan", math.inf, 14)
    assert len(points) == 2


def test_json_lines_of_llama_factory() -> None:
    text = (
        '{"current_steps": 10, "total_steps": 30, "loss": 1.25, "lr": 5e-05, "epoch": 0.5, "elapsed_time": "0:00:10"}\n'
        '{"current_steps": 20, "total_steps": 30, "eval_loss": 1.5, "epoch": 1.0}\n'
        "\n"
        '{"current_steps": 30, "total_steps": 30, "loss": 1.0, "lr": 0.0, "epo\n'
    )
    assert read(text, "jsonl") == [
        ({"step": 10.0, "loss": 1.25, "learning_rate": 5e-05, "epoch": 0.5}, 1),
        Skipped(
            what="a line",
            reason="is not a JSON object",
            gap=True,
            location=Location(path="x", line=4),
        ),
    ]


def test_a_summary_is_no_step() -> None:
    text = '{"loss": 1.0, "step": 1}\n{"train_loss": 5.0, "train_runtime": 2.0, "step": 2}\n'
    assert read(text, "jsonl") == [({"loss": 1.0, "step": 1.0}, 1)]


def test_many_bad_rows_are_told_by_the_first() -> None:
    skipped = list(exports.read(Document("x", '{"loss": 1}\n' + "{\n" * 100), "jsonl"))[1:]
    assert len(skipped) == 21
    assert skipped[-1] == Skipped(what="80 more rows", reason="as those before", gap=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{'loss': 1.0}\n",
        "[2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6\n",
        '{"fp16": {"enabled": true}}\n',
        '{\n  "data": [1, 2]\n}\n',
        "time,note\n1,loss\n",
        "a plain line, with a loss\n",
        '{"loss": 1.0}\nTraceback (most recent call last):\n',
    ],
)
def test_a_log_is_no_export(text: str) -> None:
    assert exports.recognise(text) is None


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", "csv", "`x:1`: has no column of a loss or a gradient norm"),
        ("a,b\n", "csv", "`x:1`: has no column of a loss or a gradient norm"),
        ("{", "json", "`x:1`: not valid JSON: Expecting property name enclosed in double quotes"),
        ("{}", "json", "`x`: has no list of logged metrics"),
        ('{"log_history": 1}', "json", "`x`: has no list of logged metrics"),
        ("3", "json", "`x`: has no list of logged metrics"),
        ("[" * 100_000, "json", "`x`: nested too deeply"),
        ("a," * 3_000 + "loss\n", "csv", "`x:1`: has more than 2,000 columns"),
    ],
)
def test_what_is_not_of_its_kind(text: str, kind: exports.Kind, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        list(exports.read(Document("x", text), kind))
    assert str(caught.value) == message


def test_a_table_that_breaks_in_the_middle() -> None:
    points = list(exports.read(Document("x", "step,loss\n1,2.0\n2," + "9" * 200_000 + "\n"), "csv"))
    assert points == [
        ({"step": 1.0, "loss": 2.0}, 2),
        Skipped(
            what="the rest of the table",
            reason="field larger than field limit (131072)",
            gap=True,
            location=Location(path="x", line=3),
        ),
    ]


@given(st.text(max_size=200), st.sampled_from(["csv", "jsonl", "json"]))
def test_any_text_gives_points_or_an_error(text: str, kind: exports.Kind) -> None:
    exports.recognise(text)
    for document in (text, "step,loss\n" + text, '{"log_history": [' + text + "]}"):
        with contextlib.suppress(Malformed):
            list(exports.read(Document("x", document), kind))


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9), st.lists, max_leaves=9)
)
def test_any_value_in_a_row(value: object) -> None:
    text = json.dumps([{"loss": value, "step": value, "grad_norm": 1.0}])
    assert len(list(exports.read(Document("x", text), "json"))) == 1
