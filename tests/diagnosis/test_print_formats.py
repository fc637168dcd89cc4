"""Which framework prints lines of that form."""

from __future__ import annotations

import pytest

from gradcompat.diagnosis.print_formats import methods_printed_by, printed_by

TRAINER = "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}"


@pytest.mark.parametrize(
    ("line", "key", "values"),
    [
        (TRAINER, "training.framework", ("transformers.Trainer", "trl")),
        (
            "{'loss': '1.5', 'learning_rate': '1e-05', 'epoch': '0.1'}",
            "training.framework",
            ("transformers.Trainer", "trl"),
        ),
        (TRAINER.replace("}", ", 'rewards/chosen': 0.1}"), "training.framework", ("trl",)),
        ("Epoch 3:  88%|###| 14/16 [00:00<00:00, 64.63it/s, v_num=0, loss=1.18]", "training.framework", ("lightning",)),
        ("1|25|Loss: 1.7731:   1%|          | 25/1617 [00:30<31:48]", "training.framework", ("torchtune",)),
        (
            "10/30 22:18:02 - mmengine - INFO - Epoch(train) [1][200/735]  lr: 1.9e-04  loss: 2.7522",
            "training.framework",
            ("mmengine",),
        ),
        (
            " iteration       10/  100 | consumed samples:  160 | lm loss: 9.1E+00 | loss scale: 1.0 |",
            "training.framework",
            ("megatron",),
        ),
        ("32/32 [=====] - 1s 3ms/step - loss: 0.25", "training.framework", ("keras",)),
        ("32/32 \u2501\u2501\u2501\u2501 1s 3ms/step - accuracy: 0.9 - loss: 0.25", "training.framework", ("keras",)),
        (" 10%|#  | 10/100 [00:01<00:09, 9.1it/s, loss=0.5]", "training.framework", ("torch", "accelerate")),
        ("Steps:  1%| | 10/900 [00:05<08:20, lr=1e-5, step_loss=0.12]", "training.framework", ("torch", "accelerate")),
        (
            "[2026-01-02 00:00:00,408] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[7e-06]",
            "distributed.strategy",
            ("deepspeed",),
        ),
        ("step 3: loss 1.5", None, ()),
        ("loss: 1.5", None, ()),
    ],
)
def test_the_form_of_a_line(line: str, key: str | None, values: tuple[str, ...]) -> None:
    found = printed_by(line.encode())
    assert found == (None if key is None else (key, values))


@pytest.mark.parametrize(
    ("line", "methods"),
    [
        (TRAINER.replace("}", ", 'rewards/chosen': 0.1, 'logps/chosen': -2.0}"), ("dpo", "kto", "cpo", "orpo", "bco")),
        (TRAINER.replace("}", ", 'rewards/accuracy_reward/mean': 0.1}"), ("grpo", "rloo")),
        (TRAINER.replace("}", ", 'completions/mean_length': 20.0}"), ("grpo", "rloo")),
        (TRAINER.replace("}", ", 'mean_token_accuracy': 0.6}"), ()),
        ("step 3: 'rewards/chosen': 0.1", ()),
    ],
)
def test_the_methods_that_print_a_line(line: str, methods: tuple[str, ...]) -> None:
    assert methods_printed_by(line.encode()) == methods
