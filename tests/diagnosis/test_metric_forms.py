"""What is learnt of the forms of lines: what they state must be what the parser says of each of them."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.diagnosis.anchors import Anchors
from gradcompat.diagnosis.lines import cleaned
from gradcompat.diagnosis.metric_forms import FormRows, Forms
from gradcompat.diagnosis.metrics import parse_line
from tests.diagnosis.test_metric_shapes import LINES
from tests.examples import examples

TRAINER = "{'loss': 1.2345, 'grad_norm': 0.123456789012345, 'learning_rate': 4.9e-05, 'epoch': 0.12}"
BAR = "Epoch 2:  12%|█▏        | 12/100 [00:01<00:09, 9.87it/s, loss=2.31]"
NUMBERS = [
    "0",
    "7",
    "0.0",
    "12.5",
    "-3.25",
    "0.000",
    "123456789.25",
    "1e-05",
    "4.5e-07",
    "1.5E+03",
    "nan",
    "1.2.3",
    ".",
]


def metrics(form_of: str, lines: list[str]) -> list[tuple[str, int]]:
    """What the lines that have the form of one state, and which they are."""
    form = Forms().of(form_of.encode())
    assert form is not None
    text = "".join(line + "\n" for line in lines).encode()
    rows = FormRows(form, text, 0, len(text))
    assert rows.count == len(lines)
    if not rows.rows:
        return []
    return [(repr(sorted(values.items())), row) for values, row in rows.stretch(0, len(rows.rows), int).values()]


def parsed(line: str) -> str:
    return repr(sorted((parse_line(cleaned(line.encode())) or {}).items()))


@pytest.mark.parametrize("line", LINES)
@settings(max_examples=examples(15))
@given(chance=st.randoms(), numbers=st.lists(st.sampled_from(NUMBERS), min_size=8, max_size=8))
def test_lines_of_a_form_are_read_as_the_parser_reads_them(
    line: str, chance: random.Random, numbers: list[str]
) -> None:
    form = Forms().of(line.encode())
    if form is None:
        return
    lines = [re.sub(r"-?\d+(\.\d+)?", lambda _: chance.choice(numbers), line) for _ in range(5)]
    lines += [re.sub(r"\d", lambda _: chance.choice("0123456789"), line) for _ in range(5)]
    found = metrics(line, [line, *lines])
    assert found[0] == (parsed(line), 0)
    assert all(stated == parsed([line, *lines][row]) for stated, row in found)


def test_most_forms_are_learnt() -> None:
    assert sum(Forms().of(line.encode()) is not None for line in LINES) > len(LINES) / 2


def test_numbers_may_be_longer_or_have_signs_and_exponents() -> None:
    lines = [
        "{'loss': -12.5, 'grad_norm': 3.1e-07, 'learning_rate': 0.5, 'epoch': 120.25}",
        "{'loss': nan, 'grad_norm': 3.1e-07, 'learning_rate': 0.5, 'epoch': 120.25}",
        "no metrics",
        TRAINER,
    ]
    assert metrics(TRAINER, lines) == [(parsed(lines[0]), 0), (parsed(lines[3]), 3)]


def test_a_bar_may_be_filled_and_its_step_is_counted_through() -> None:
    lines = [
        "Epoch 2:   0%|          | 0/100 [00:00<?, loss=2.40]",
        "Epoch 3:   9%|▉         | 9/100 [00:01<00:09, 9.87it/s, loss=2.40]",
        "Epoch 12: 100%|██████████| 100/100 [00:01<00:09, 9.87it/s, loss=2.40]",
    ]
    assert metrics(BAR, lines) == [(parsed(lines[1]), 1), (parsed(lines[2]), 2)]
    assert "('step', 1300.0)" in parsed(lines[2])


def test_a_rate_that_a_bar_rounds_to_zero_is_left_to_the_parser() -> None:
    line = BAR.replace("]", ", lr=0.123]")
    assert metrics(line, [line, line.replace("0.123", "0.000")]) == [(parsed(line), 0)]


@pytest.mark.parametrize(
    "line",
    [
        "{'loss': 1.5, 'text': 'a\\b'}",  # Windows' paths are searched with other slashes
        "Current loss scale already at minimum - cannot decrease scale anymore. Exiting run. 12",
        "x" * 2_000 + " loss: 1.5",
        "there is no loss of 12 here",
        "{'loss': nan}",
    ],
)
def test_no_form(line: str) -> None:
    assert Forms().of(line.encode()) is None


def test_what_lines_of_a_form_may_hold() -> None:
    pieces = {b"'loss': 0.0": 1, b"'grad_norm': ": 2, b"'lr': ": 4, b"xe-05, 'epoch'": 8, b"1.0, 'learning": 16}
    form = Forms().of(TRAINER.encode())
    assert form is not None
    assert Anchors(pieces, {b"loss": 32, b"gain": 64}).possible(form.text, form.free) == 1 | 2 | 16 | 32
