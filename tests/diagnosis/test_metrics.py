"""One line at a time: what each tool prints, and what merely looks like it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.diagnosis.metrics import MAX_LINE, canonical, choose, parse_line

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def shown(values: dict[str, float] | None) -> dict[str, float | str] | None:
    """With nan as a word, which equals itself."""
    if values is None:
        return None
    return {name: "nan" if math.isnan(value) else value for name, value in values.items()}


TRAINER = {"loss": 1.2, "grad_norm": 0.5, "learning_rate": 5e-05, "epoch": 0.1}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        # Hugging Face: dictionaries; strings since 5; NumPy's and torch's repr; a progress bar before it.
        ("{'loss': 1.2, 'grad_norm': 0.5, 'learning_rate': 5e-05, 'epoch': 0.1}", TRAINER),
        ("{'loss': '1.2', 'grad_norm': '0.5', 'learning_rate': '5e-05', 'epoch': '0.1'}", TRAINER),
        ("{'loss': 1.2, 'grad_norm': np.float64(0.5), 'learning_rate': 5e-05, 'epoch': 0.1}", TRAINER),
        ("{'loss': 1.2, 'grad_norm': tensor(0.5, device='cuda:0'), 'learning_rate': 5e-05, 'epoch': 0.1}", TRAINER),
        (
            "  0%|   | 1/666 [00:22<4:08:53]{'loss': 1.2, 'grad_norm': 0.5, 'learning_rate': 5e-05, 'epoch': 0.1}",
            TRAINER,
        ),
        ("{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.01}", {"loss": 0.0, "grad_norm": "nan", "epoch": 0.01}),
        ("{'loss': inf, 'grad_norm': -inf, 'epoch': 1}", {"loss": math.inf, "grad_norm": -math.inf, "epoch": 1.0}),
        ('{"loss": 1.2, "lr": 5e-05, "step": 10}', {"loss": 1.2, "learning_rate": 5e-05, "step": 10.0}),
        ("{'loss': 0.0, 'reward': 0.5, 'epoch': 0.1}", {"loss": 0.0, "epoch": 0.1, "other_objective": 1.0}),
        # Lightning: the bar's own loss, what the module logs, two kinds of bars, its way to print nan.
        (
            "Epoch 3:  12%|█▏   | 12/100 [00:01<00:10,  8.5it/s, loss=1.23, v_num=0, train_loss_step=1.24]",
            {"loss": 1.23, "epoch": 3.0, "step": 312.0},
        ),
        (
            "Epoch 0:  12%|█▏   | 12/100 [00:01<00:10,  8.5it/s, loss=nan.0, v_num=0]",
            {"loss": "nan", "epoch": 0.0, "step": 12.0},
        ),
        (
            "Epoch 1/4 ━━━━━━╸━━━━ 12/100 0:00:01 • 0:00:10 8.5it/s v_num: 0 train_loss: 0.693 lr: 0.000",
            {"loss": 0.693, "epoch": 1.0, "step": 112.0},
        ),
        # DeepSpeed and what trains with it.
        (
            "[2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=6, "
            "lr=[9.5e-06, 9.5e-06], mom=[(0.9, 0.95), (0.9, 0.95)]",
            {"step": 10.0, "skipped": 6.0, "learning_rate": 9.5e-06},
        ),
        (
            "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
            {"loss_scale": 32768.0},
        ),
        ("[INFO] Reducing dynamic loss scale from 65536 to 32768.0", {"loss_scale": 32768.0}),
        (
            "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
            {"loss_scale_minimum": 1.0},
        ),
        ("Epoch: 2, Step: 10, Rank: 0, loss = 1.2", {"epoch": 2.0, "step": 10.0, "loss": 1.2}),
        ("steps: 10 loss: 1.2345 iter time (s): 0.123 samples/sec: 65.0", {"step": 10.0, "loss": 1.2345}),
        (
            " iteration       10/    1000 | elapsed time per iteration (ms): 1.2 | learning rate: 1.000E-05 | "
            "global batch size:    16 | lm loss: 1.046E+01 | loss scale: 1.0 | grad norm: 0.902 | number of nan: 0 |",
            {"learning_rate": 1e-05, "loss": 10.46, "loss_scale": 1.0, "grad_norm": 0.902, "step": 10.0},
        ),
        # torchtune: the file and the bar.
        (
            "Step 7 | loss:1.5 lr:2e-05 tokens_per_second_per_gpu:120.5 grad_norm:0.7",
            {"step": 7.0, "loss": 1.5, "learning_rate": 2e-05, "grad_norm": 0.7},
        ),
        ("1|12|Loss: 1.23:  10%|█    | 12/100", {"loss": 1.23, "epoch": 1.0, "step": 12.0}),
        # mmengine, both of its loops.
        (
            "10/30 22:18:02 - mmengine - INFO - Epoch(train) [2][200/735]  lr: 1.9870e-04  eta: 2:46:39  time: 2.8906  "
            "data_time: 0.0042  memory: 10762  loss: 2.7522  grad_norm: nan",
            {"learning_rate": 1.987e-04, "loss": 2.7522, "grad_norm": "nan", "epoch": 2.0, "step": 935.0},
        ),
        (
            "10/30 22:18:02 - INFO - Iter(train) [  10/ 100]  lr: 2.0000e-05  eta: 1 day, 2:46:39  loss: 1.25",
            {"learning_rate": 2e-05, "loss": 1.25, "step": 10.0},
        ),
        # The bar of sd-scripts, whose share is no step.
        (
            "steps:  12%|#         | 23/200 [00:32<1:31:11,  1.38s/it, loss=nan]",
            {"loss": "nan", "step": 23.0},
        ),
        # Loops of one's own.
        ("Step 0 | Loss = 2.2888", {"loss": 2.2888, "step": 0.0}),
        ("iter 10: loss 4.5678, time 12.34ms, mfu 3.1%", {"loss": 4.5678, "step": 10.0}),
        ("Epoch 1 | train loss: 1.2 | val loss: 1.3", {"loss": 1.2, "epoch": 1.0}),
    ],
)
def test_a_line_of_metrics(line: str, values: dict[str, float | str]) -> None:
    assert shown(parse_line(line)) == values


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Traceback (most recent call last):",
        "{'eval_loss': 1.2, 'eval_runtime': 3.0, 'epoch': 0.1}",
        "{'train_runtime': 12.5, 'train_loss': 3.0, 'epoch': 3.0}",
        "val loss: 1.25",
        "ppl: 2.01, loss: 0.7",
        "  loss_scale ................... 0",
        '    "loss_scale": 0, "loss_scale_window": 100',
        "TrainingArguments(max_grad_norm=1.0, learning_rate=5e-05, label_smoothing_factor=0.0)",
        "the loss of precision: see torch 2.1.0",
        "cross_entropy_loss=1.0",
        "loss: 1.2.3",
        "loss: 12ab",
        "Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1",
    ],
)
def test_a_line_without(line: str) -> None:
    assert parse_line(line) is None


def test_a_line_without_end_is_none_of_metrics() -> None:
    line = "{'loss': 1.2}" + " " * MAX_LINE
    assert parse_line(line) is None
    assert parse_line(line[: MAX_LINE - 1]) == {"loss": 1.2}


def test_nothing_is_evaluated() -> None:
    assert parse_line("{'loss': __import__('os').abort(), 'grad_norm': 1.0}") == {"grad_norm": 1.0}


def test_the_plainest_name_wins() -> None:
    assert choose({"train_loss": 2.0, "train/loss": 1.0, "lr-AdamW": 0.5}) == {"loss": 1.0, "learning_rate": 0.5}
    assert canonical("Train/Loss") == "loss"
    assert canonical("eval/loss") is None


@pytest.mark.parametrize("name", ["trainer-4.57.6-healthy.log", "trainer-5.23.0-healthy.log"])
def test_a_trainers_log(name: str) -> None:
    text = (LOGS / name).read_text("utf-8")
    found = [values for line in text.replace("\r", "\n").split("\n") if (values := parse_line(line))]
    assert len(found) == 30  # 60 steps, every other logged; the summary is none
    assert {tuple(values) for values in found} == {("loss", "grad_norm", "learning_rate", "epoch")}
    assert [values["epoch"] for values in found[:3]] == [0.1, 0.2, 0.3]


def test_lightnings_bar() -> None:
    text = (LOGS / "lightning-2.6.6-bar.log").read_text("utf-8")
    found = [values for line in text.split("\n") if (values := parse_line(line))]
    steps = [values["step"] for values in found]
    assert steps == sorted(steps)
    assert found[0] == {"loss": 1.59, "epoch": 0.0, "step": 6.0}


@given(
    st.text(max_size=300), st.sampled_from(["loss: ", "'grad_norm': ", "loss scale", "skipped=", "Loss: ", "{'loss': "])
)
def test_any_text_gives_numbers_or_nothing(text: str, hint: str) -> None:
    for line in (hint + text, text + hint, text):
        values = parse_line(line)
        assert values is None or all(isinstance(value, float) for value in values.values())
