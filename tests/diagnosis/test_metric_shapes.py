"""What is learnt of the shapes of lines: it must say what the parser says, of each line."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.diagnosis import metric_shapes
from gradcompat.diagnosis.lines import cleaned
from gradcompat.diagnosis.metric_shapes import MetricLines
from gradcompat.diagnosis.metrics import parse_line

LINES = [
    "{'loss': 1.2345, 'grad_norm': 0.123456789012345, 'learning_rate': 4.9e-05, 'epoch': 0.12}",
    "{'loss': '1.2', 'grad_norm': 'nan', 'learning_rate': '5e-05', 'epoch': '0.1'}",
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.0, 'epoch': 1.0}",
    "{'loss': 1.2, 'grad_norm': np.float64(0.5), 'epoch': 0.1, 'rewards/chosen': 0.25}",
    '{"loss": -1.2, "lr": 5e-05, "step": 10, "current_steps": 7, "total_steps": 77}',
    "  0%|   | 1/666 [00:22<4:08:53]{'loss': 1.2, 'grad_norm': 0.5, 'learning_rate': 5e-05, 'epoch': 0.1}",
    "[2023-04-18 01:57:08,742] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=2, lr=[9.65e-06, 9.65e-06], "
    "mom=[(0.9, 0.95), (0.9, 0.95)]",
    "[2023-04-18 02:06:17,858] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
    "Attempted loss scale: 65536, reducing to 32768",
    "[2025-01-02 15:59:27,334] [INFO] [fused_optimizer.py:393:_update_scale] "
    "Reducing dynamic loss scale from 4096.0 to 2048.0",
    "[rank3]: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run. 12",
    " iteration      100/  500000 | consumed samples:  51200 | elapsed time per iteration (ms): 812.3 | "
    "learning rate: 1.000E-05 | global batch size:   512 | lm loss: 9.187654E+00 | loss scale: 65536.0 | "
    "grad norm: 2.345 | number of skipped iterations:   0 | number of nan iterations:   0 |",
    "Epoch(train)  [3][ 50/100]  lr: 1.0000e-05  eta: 1:02:03  time: 1.23  memory: 12345  loss: 1.2345",
    "Iter(train) [  10/1000]  lr: 2.0e-05  loss: 0.5432  grad_norm: 3.2101",
    "Epoch 2:  12%|#2    | 12/100 [00:01<00:09, 9.87it/s, loss=2.31, v_num=3]",
    "Epoch 2:  12%|#2    | 12/100 [00:01<00:09, 9.87it/s, loss=2.31, lr=0.000]",
    "Epoch 2:  12%|#2    | 12/100 [00:01<00:09, 9.87it/s, loss=nan.0]",
    "Epoch 11/29 \N{BOX DRAWINGS HEAVY HORIZONTAL}\N{BOX DRAWINGS HEAVY HORIZONTAL} 120/400 0:01:02 train_loss: 1.23",
    "1|123|Loss: 1.2345678: 12%|#2   | 123/1000 [01:02<09:08, 1.23s/it]",
    "iter 10: loss 4.5678, time 12.5ms, mfu 1.23%",
    "step 250: train loss 1.2345, val loss 1.3456",
    "12345: {'loss': 1.25}",
    "(Worker pid=1234, ip=10.0.0.12) step:12 - actor/pg_loss:0.123 - actor/grad_norm:0.456",
    "d0.loss_cls: 0.5, d1.loss_bbox: 0.25, loss: 12.5, grad_norm: 33.75",
    "eval_loss: 1.5, perplexity 4.48",
    "there is no loss of 12 here",
    "{'train_runtime': 12.5, 'train_loss': 1.5, 'epoch': 3.0}",
    "ppl: 12.5, loss: 2.5",
]


def said(line: bytes) -> str:
    return repr(sorted((parse_line(cleaned(line)) or {}).items()))


@pytest.mark.parametrize("line", LINES)
def test_lines_that_differ_in_digits_are_read_as_the_parser_reads_them(line: str) -> None:
    reader = MetricLines()
    for number in range(60):
        digits = itertools.cycle(str(number**7 if number % 3 else number % 2))
        other = re.sub(r"\d", lambda _: next(digits), line).encode() if number else line.encode()  # noqa: B023
        assert repr(sorted((reader.parse(other) or {}).items())) == said(other), other


@pytest.mark.parametrize("line", LINES)
def test_shapes_are_learnt_but_for_the_printed_nan(line: str) -> None:
    reader = MetricLines()
    for digit in b"123":
        reader.parse(re.sub(rb"\d", bytes([digit]), line.encode()))
    assert bool(reader._learnt or reader._empty) == ("nan.0" not in line)


FRAGMENTS = st.lists(
    st.sampled_from(
        ["loss", "Loss", "grad_norm", "lr", "epoch", "step", "skipped=", "learning rate", "loss scale", "reducing to ",
         "{", "}", "'", "'", ": ", ": ", "=", "=", ", ", " ", " ", "/", "|", "%|", "[", "]", "Epoch ", "iter ",
         "-", ".", "e-", "E+", "nan", "inf", "0", "00", "0.00", "000", "rank", "pid=", "reward", "val ", "tensor(", "x"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(FRAGMENTS, st.sampled_from(["loss", "'loss': ", "loss=", "grad_norm: ", "skipped=0 step=0"]), st.randoms())
def test_any_line_is_read_as_the_parser_reads_it(text: str, hint: str, chance: random.Random) -> None:
    reader = MetricLines()
    shape = f"{text}{hint}0.0, {text}"
    for _ in range(5):
        line = re.sub("0", lambda _: chance.choice("0012345678"), shape).encode()
        assert repr(sorted((reader.parse(line) or {}).items())) == said(line)


def test_what_is_learnt_is_bounded_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_shapes, "_MOST_SHAPES", 5)
    reader = MetricLines()
    for number in range(300):
        line = b"{'loss': 1." + b"5" * (number // 3 % 12 + 1) + b"}"
        assert reader.parse(line) == parse_line(line.decode())
        assert len(reader._met) <= 5
        assert len(reader._learnt) <= 5
