"""Tables of verdicts from rows, and what of the rows ships with the package."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.matrix import compile_rows, dumps, label_of, load_rows, matrices
from gradcompat.model.matrix import NOT_RUN, Matrix
from gradcompat.model.probe import Measurement, ProbeSpec, Row

LLAMA = {"model": "llama"}
LLAVA = {"model": "llava", "labels": "unequal"}


def row(version: str, parameters: dict[str, Any], loss: float = 1.0, update: float | str = 1.0, **changed: Any) -> Row:
    values = {"loss_ratio": loss, "update_ratio": update, "update_cosine": 1.0, "loss_whole": 4.1234567890123,
              "control_update_norm": 1.0, "control_loss_ratio": 1.0, "control_update_ratio": 1.0}  # fmt: skip
    measured: dict[str, Any] = {
        "spec": ProbeSpec(name="accumulation_equivalence", parameters=parameters), "state": "measured",
        "values": values,
        "packages": {"torch": "2.13.0", "numpy": "2.2.6"}, "python": "3.11.7", **changed,
    }  # fmt: skip
    return Row(
        package="transformers", version=version, measurement=Measurement(**measured), platform="linux-x86_64",
        digest="0" * 12, date="2026-11-20",
    )  # fmt: skip


ROWS = (
    row("4.9.0", LLAMA),
    row("4.10.0", LLAMA, 4.0, 4.0),
    row("4.11.0", LLAMA, state="skipped", reason="it does not import", values={}, packages={}),
    row("4.9.0", LLAVA, 1.0, 0.25),
    row("4.10.0", LLAVA, 4.0, 1.0),
)


def only(rows: tuple[Row, ...]) -> Matrix:
    (found,) = matrices(rows)
    return found


def signs(matrix: Matrix) -> list[str]:
    return ["".join(matrix.cell(variant, release).sign for release in matrix.releases) for variant in matrix.variants]


def test_a_table() -> None:
    found = only(ROWS)
    assert (found.package, found.recipe, found.releases) == (
        "transformers", "accumulation_equivalence", ("4.9.0", "4.10.0", "4.11.0"),
    )  # fmt: skip
    assert found.labels == ("llama", "llava, labels unequal")
    assert signs(found) == [".X-", "gl "]
    assert found.cell(found.variants[1], "4.11.0") is NOT_RUN
    assert found.signs == {
        "X": "wrong",
        ".": "right",
        "-": "cannot be run there",
        " ": "not run",
        "l": "the logged loss alone is wrong",
        "g": "the gradients alone are wrong",
    }
    assert found.made_with == "torch 2.13.0, Python 3.11.7, cpu, 2026-11-20"


def test_not_run_is_explained_only_where_something_was_not_run() -> None:
    assert " " not in only(ROWS[:3]).signs


def test_variants_stand_as_the_recipe_has_them_and_others_behind() -> None:
    odd = {"model": "llama", "labels": "unequal", "tail": True}
    rows = (row("1.0", odd), row("1.0", LLAVA), row("1.0", LLAMA))
    assert only(rows).labels == ("llama", "llava, labels unequal", "llama, labels unequal, tail")


def test_of_several_devices_the_worst_counts() -> None:
    on_gpu = row("4.9.0", LLAMA, 4.0, 4.0, device="cuda:0 NVIDIA H200")
    assert signs(only((ROWS[0], on_gpu))) == signs(only((on_gpu, ROWS[0]))) == ["X"]


def test_not_a_number_is_wrong_and_a_broken_control_is_inconclusive() -> None:
    broken = row("4.10.0", LLAMA)
    values = {**broken.measurement.values, "control_loss_ratio": 2.0}
    rows = (row("4.9.0", LLAMA, 1.0, "nan"), replace(broken, measurement=replace(broken.measurement, values=values)))
    assert signs(only(rows)) == ["g?"]


def test_a_recipe_that_is_gone_has_no_table() -> None:
    gone = row("4.9.0", {}, spec=ProbeSpec(name="gone"))
    assert matrices([gone]) == ()
    assert compile_rows([gone])["groups"] == []


def test_what_ships_gives_the_same_tables(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    path.write_text(dumps(compile_rows(ROWS)), "utf-8")
    back = load_rows(path)
    assert only(back) == only(ROWS)
    assert "loss_whole" not in path.read_text("utf-8")  # nothing hangs on it


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"format": 99, "groups": []}', "is of another format"),
        ('{"format": 2, "groups": [{"rows": [1]}]}', "cannot be read"),
        ('{"format": 2}', "cannot be read"),
    ],
)
def test_a_broken_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "measured.json"
    path.write_text(text, "utf-8")
    with pytest.raises(KnowledgeError, match=message):
        load_rows(path)


def test_no_file_is_no_rows(tmp_path: Path) -> None:
    assert load_rows(tmp_path / "none") == ()
    assert json.loads(dumps(compile_rows(()))) == {"format": 2, "groups": []}


@pytest.mark.parametrize(
    ("parameters", "label"),
    [
        ({}, "as it is"),
        ({"model": "vip_llava", "tail": True}, "vip llava, tail"),
        ({"setup": "lora", "hook": False, "through": "trainer"}, "lora, through trainer"),
    ],
)
def test_labels(parameters: dict[str, Any], label: str) -> None:
    assert label_of(ProbeSpec(name="any", parameters=parameters)) == label
