"""Dumps of TrainingArguments."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import training_args
from tests.scanners.scanned import fixture, lines


def test_a_dump() -> None:
    context = training_args.scan(fixture("hf/training_args.json"))
    assert (context.source, context.kind, context.run, context.skipped) == (
        "training_args.json",
        "hf-training-args",
        True,
        (),
    )
    assert context.refers_to == ("configs/ds.json",)
    assert lines(context) == [
        (3, "training.per_device_train_batch_size", 8),
        (5, "training.gradient_accumulation_steps", 2),
        (7, "optimizer.weight_decay", 0.0),
        (9, "training.max_grad_norm", 1.0),
        (10, "training.num_train_epochs", 3.0),
        (11, "optimizer.scheduler", "linear"),
        (13, "training.seed", 42),
        (14, "precision.mode", "no"),
        (19, "distributed.sync_each_batch", True),
        (20, "distributed.strategy", "deepspeed"),
        (21, "training.label_smoothing_factor", 0.1),
        (22, "optimizer.name", "adamw_torch"),
        (22, "optimizer.library", "torch"),
        (22, "optimizer.fused", False),
        (24, "training.resume_from_checkpoint", True),
        (25, "training.gradient_checkpointing", True),
        (27, "training.torch_compile", False),
        (29, "training.average_tokens_across_devices", True),
        (None, "training.framework", "transformers.Trainer"),
    ]


def test_a_dump_of_trl() -> None:
    text = '{"output_dir": "x", "weight_decay": 0, "save_steps": 1, "packing": false}'
    assert lines(training_args.scan(Document("args.json", text))) == [
        (1, "optimizer.weight_decay", 0.0),
        (1, "training.packing", False),
        (None, "training.framework", "trl"),
    ]


def test_other_arguments_are_refused() -> None:
    with pytest.raises(Malformed) as caught:
        training_args.scan(Document("args.json", '{"output_dir": "x", "weight_decay": 0, "lr": 1}'))
    assert str(caught.value) == "`args.json`: has no arguments of transformers' Trainer"
